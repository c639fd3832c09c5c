/** What the floors below need of a logger; pino fits. Fields first, sentence second. */
export type Log = {
  debug(fields: object, text: string): void
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
}
