import { text } from 'node:stream/consumers'

/** All of standard input, without the end of its last line. */
export async function readPassword(): Promise<string> {
  return (await text(process.stdin)).replace(/\r?\n$/, '')
}
