import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findHolders } from '../base/directory-lock.ts'

// Tells the other processes of a home where its sandbox listens, and its next owner which port to reuse.
export type Address = {
  // An address to connect to, never 0.0.0.0 or ::.
  host: string
  port: number
  pid: number
  // If the owner's lock is gone, the address is from the last run.
  lock: string
  isBrief: boolean
}

export const urlOf = ({ host, port }: Pick<Address, 'host' | 'port'>): string =>
  `http://${host.includes(':') ? `[${host}]` : host}:${port}`

export async function findRunning(home: string): Promise<Address | undefined> {
  const address = await readAddress(home)
  const holders = address ? await findHolders(home) : []
  return holders.some(({ name }) => name === address?.lock) ? address : undefined
}

// An unreadable file counts as none.
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

// The rename never shows a reader half a file.
export async function writeAddress(home: string, address: Address): Promise<void> {
  const draft = `${pathOf(home)}.new`
  await writeFile(draft, JSON.stringify(address) + '\n', { mode: 0o600 })
  await rename(draft, pathOf(home))
}

const pathOf = (home: string): string => join(home, 'address.json')
