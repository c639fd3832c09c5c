/** What the operator can mend, in one line that says how; shown without a stack, which is for what only we can mend. */
export class OperatorError extends Error {
  override name = 'OperatorError'
}
