/** A problem that the operator can fix, in one line that says how. Shown without a stack. */
export class OperatorError extends Error {
  override name = 'OperatorError'
}
