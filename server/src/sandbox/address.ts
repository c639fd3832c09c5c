import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findHolders } from '../base/directory-lock.ts'

// The address file tells the other processes of a home where its sandbox listens, and its next owner which port to
// reuse. The lock of the home decides who the owner is.
export type Address = {
  // Where a client reaches it, never a wildcard.
  host: string
  port: number
  pid: number
  // The name of the owner's lock. If that lock is gone, the address is from the last run.
  lock: string
  // The owner is a command, and ends with it.
  isBrief: boolean
}

export const urlOf = ({ host, port }: Pick<Address, 'host' | 'port'>): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

// The address of the sandbox that runs now, in any process.
export async function findRunning(home: string): Promise<Address | undefined> {
  const address = await readAddress(home)
  const holders = address ? await findHolders(home) : []
  return holders.some(({ name }) => name === address?.lock) ? address : undefined
}

// The last address written. An unreadable file counts as none: only the last port is lost.
export async function readAddress(home: string): Promise<Address | undefined> {
  const text = await readFile(pathOf(home), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  try {
    const { host, port, pid, lock = '', isBrief = false }: Address = JSON.parse(text)
    return typeof host === 'string' && Number.isInteger(port) ? { host, port, pid, lock, isBrief } : undefined
  } catch {
    return undefined
  }
}

// Only the owner calls this, so one name for the draft is enough. The rename never shows a reader half a file.
export async function writeAddress(home: string, address: Address): Promise<void> {
  const draft = `${pathOf(home)}.new`
  await writeFile(draft, JSON.stringify(address) + '\n', { mode: 0o600 })
  await rename(draft, pathOf(home))
}

const pathOf = (home: string): string => join(home, 'address.json')
