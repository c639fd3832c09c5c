/** What the lower layers need of a logger. */
export type Log = {
  debug(fields: object, text: string): void
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
}
