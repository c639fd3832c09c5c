/** A problem that the operator can fix. The text says how, in one line, and is shown without a stack trace. */
export class OperatorError extends Error {
  override name = 'OperatorError'
}
