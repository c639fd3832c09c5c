/** What `guiche doctor` puts before the text. */
export type Topic = 'PostgreSQL' | 'sandbox'

/** A problem that the operator can fix. The text says how, in one line. */
export class OperatorError extends Error {
  override name = 'OperatorError'
  readonly topic: Topic | undefined

  constructor(text: string, { topic, ...options }: { cause?: unknown; topic?: Topic } = {}) {
    super(text, options)
    this.topic = topic
  }
}
