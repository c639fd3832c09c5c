import { OperatorError } from '../base/operator-error.ts'
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rmdir, stat, unlink } from 'node:fs/promises'
import { get } from 'node:http'
import { join } from 'node:path'

// Who is the sandbox of a home? Several processes may want to be. The port is the lock: it is held by listening on it, and
// the kernel takes it back from a process that dies, which no lock file can promise. The address file says which port.
//
// 1. Whoever listens on the port that the file records, and finds the file unchanged after that, leads.
// 2. The file is first made exclusively (a hard link to a finished file), so of two first starts one wins.
// 3. The file is changed only under a short-lived lock, by one who holds the old port too, or knows that a stranger does.
//
// Processes that cannot reach each other's loopback (containers that share a volume) must not share a home.
export type Address = {
  // Where a client reaches it, never a wildcard.
  host: string
  port: number
  // Drawn at random when the home is first used; a live sandbox tells it, so a stranger on the port is found out.
  sandbox: string
  pid: number
}

export type Listener = { port: number; close(): Promise<void> }

export type Claim<L extends Listener> = { lead: L; address: Address } | { follow: Address }

// Returns undefined when the port is in use, whoever uses it.
export type Listen<L extends Listener> = (port: number, sandbox: string) => Promise<L | undefined>

type Claimant<L extends Listener> = { home: string; host: string; port: number; listen: Listen<L> }

// Each try waits a little, so together they outlast any start or stop of another process.
const TRIES_MAX = 60
const TRY_WAIT_MS = 50
// A port that is in use and does not answer as ours: its owner may be coming or going. After this many tries it is a
// stranger, or the outgoing end of somebody's connection.
const VANISHED_MAX = 10
const PROBE_TIMEOUT_MS = 1_000
const MOVE_LOCK_STALE_MS = 10_000
// Below the ranges from which systems take outgoing ports, or the recorded port would now and then be taken on restart.
const PORT_FROM = 21_000
const PORT_SPAN = 11_000
const FREE_PORT_TRIES = 50

export async function claimAddress<L extends Listener>(claimant: Claimant<L>): Promise<Claim<L>> {
  let vanished = 0
  for (let i = 0; i < TRIES_MAX; i++) {
    const known = await readAddress(claimant.home)
    const patience = vanished < VANISHED_MAX
    const claim = known ? await claimKnown(claimant, known, patience) : await claimFirst(claimant, patience)
    if (claim === 'vanished') vanished += 1
    else if (claim !== 'again') return claim
    await new Promise((done) => setTimeout(done, TRY_WAIT_MS))
  }
  throw new OperatorError(`no sandbox could be opened on ${claimant.home}: other processes keep claiming it`)
}

export async function readAddress(home: string): Promise<Address | undefined> {
  const path = join(home, 'address.json')
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (text === undefined) return undefined
  const address = parseAddress(text)
  if (!address) throw new OperatorError(`${path} is damaged; remove it while no sandbox runs on ${home}`)
  return address
}

// `vanished`: nobody listens there, or not any more. `silent`: somebody does and says nothing, as a stopped or very busy process would.
export async function probe(address: Address): Promise<'ours' | 'stranger' | 'silent' | 'vanished'> {
  return new Promise((resolve) => {
    const request = get(
      { host: address.host, port: address.port, path: '/bank/identity', agent: false },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk.slice(0, 1000)
          if (text.length > 1000) response.destroy()
        })
        response.on('close', () => resolve(text.includes(address.sandbox) ? 'ours' : 'stranger'))
      },
    )
    request.setTimeout(PROBE_TIMEOUT_MS, () => {
      resolve('silent')
      request.destroy()
    })
    request.on('error', (error) => {
      resolve(hasCode(error, 'ECONNREFUSED') || hasCode(error, 'ECONNRESET') ? 'vanished' : 'stranger')
    })
  })
}

async function claimFirst<L extends Listener>(
  claimant: Claimant<L>,
  patience: boolean,
): Promise<Claim<L> | 'again' | 'vanished'> {
  const sandbox = randomBytes(16).toString('hex')
  const lead = await listenSomewhere(claimant, sandbox)
  // Perhaps another process holds it for this home, and has yet to write that down.
  if (!lead && patience) return 'vanished'
  if (!lead) throw portInUse(claimant.port)
  const address = { host: claimant.host, port: lead.port, sandbox, pid: process.pid }
  if (await createAddress(claimant.home, address)) return { lead, address }
  await lead.close()
  return 'again'
}

async function claimKnown<L extends Listener>(
  claimant: Claimant<L>,
  known: Address,
  patience: boolean,
): Promise<Claim<L> | 'again' | 'vanished'> {
  const { home, host, port, listen } = claimant
  if (port !== 0 && port !== known.port) {
    const found = await probe(known)
    return found === 'ours' || isBusyLeader(found, known) ? { follow: known } : moveAddress(claimant, known)
  }
  const lead = await listen(known.port, known.sandbox)
  if (lead) {
    if (!sameAddress(await readAddress(home), known)) {
      await lead.close()
      return 'again'
    }
    const address = { ...known, host, pid: process.pid }
    await replaceAddress(home, address)
    return { lead, address }
  }
  const found = await probe(known)
  if (found === 'ours' || isBusyLeader(found, known)) return { follow: known }
  if (found === 'vanished' && patience) return 'vanished'
  if (port !== 0) throw portInUse(port)
  return moveAddress(claimant, known)
}

async function moveAddress<L extends Listener>(claimant: Claimant<L>, known: Address): Promise<Claim<L> | 'again'> {
  const { home, host, listen } = claimant
  const lock = join(home, 'address.lock')
  if (!(await takeMoveLock(lock))) return 'again'
  let old: L | undefined
  try {
    if (!sameAddress(await readAddress(home), known)) return 'again'
    old = await listen(known.port, known.sandbox)
    if (!old && (await probe(known)) === 'ours') return 'again'
    // Free after all, and nobody asked for another: clients know this port, so the next try takes it.
    if (old && claimant.port === 0) return 'again'
    const lead = await listenSomewhere(claimant, known.sandbox)
    if (!lead) throw portInUse(claimant.port)
    const address = { ...known, host, port: lead.port, pid: process.pid }
    await replaceAddress(home, address)
    return { lead, address }
  } finally {
    await old?.close()
    await rmdir(lock)
  }
}

async function listenSomewhere<L extends Listener>(claimant: Claimant<L>, sandbox: string): Promise<L | undefined> {
  const { port, listen } = claimant
  if (port !== 0) return listen(port, sandbox)
  for (let i = 0; i < FREE_PORT_TRIES; i++) {
    const listener = await listen(PORT_FROM + (randomBytes(4).readUInt32BE() % PORT_SPAN), sandbox)
    if (listener) return listener
  }
  throw new OperatorError(`no free port found from ${PORT_FROM} to ${PORT_FROM + PORT_SPAN - 1}`)
}

const portInUse = (port: number): Error =>
  new Error(`port ${port} is in use by another program; choose another port for the sandbox`)

// A leader that is silent but whose process lives must not be taken for a stranger: two writers would share a journal.
function isBusyLeader(found: Awaited<ReturnType<typeof probe>>, known: Address): boolean {
  if (found !== 'silent' || known.pid === process.pid) return false
  try {
    process.kill(known.pid, 0)
    return true
  } catch (error) {
    return hasCode(error, 'EPERM')
  }
}

const sameAddress = (a: Address | undefined, b: Address): boolean => a?.port === b.port && a.sandbox === b.sandbox

function parseAddress(text: string): Address | undefined {
  try {
    const { host, port, sandbox, pid }: Partial<Record<string, unknown>> = JSON.parse(text)
    if (typeof host !== 'string' || typeof port !== 'number') return undefined
    if (typeof sandbox !== 'string' || typeof pid !== 'number') return undefined
    return { host, port, sandbox, pid }
  } catch {
    return undefined
  }
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

async function createAddress(home: string, address: Address): Promise<boolean> {
  const draft = await writeDraft(home, address)
  try {
    await link(draft, join(home, 'address.json'))
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  } finally {
    await unlink(draft)
  }
}

async function replaceAddress(home: string, address: Address): Promise<void> {
  await rename(await writeDraft(home, address), join(home, 'address.json'))
}

async function writeDraft(home: string, address: Address): Promise<string> {
  const draft = join(home, `address.${randomBytes(6).toString('hex')}.tmp`)
  const file = await open(draft, 'wx')
  try {
    await file.writeFile(JSON.stringify(address) + '\n')
    await file.sync()
  } finally {
    await file.close()
  }
  return draft
}

async function takeMoveLock(path: string): Promise<boolean> {
  try {
    await mkdir(path)
    return true
  } catch {
    const held = await stat(path).catch(() => undefined)
    // Left by a process that was killed within the few milliseconds that a move takes.
    if (held && Date.now() - held.mtimeMs > MOVE_LOCK_STALE_MS) await rmdir(path).catch(() => undefined)
    return false
  }
}
