/** A port of 127.0.0.1 that nothing listens on, and that this process has not been given before. */
export function freePort(): Promise<number>
