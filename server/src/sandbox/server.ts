import { mkdir } from 'node:fs/promises'
import type { Server } from 'node:http'
import { join } from 'node:path'
import type { Address, Claim, Listener } from './address.ts'
import { claimAddress, probe, readAddress } from './address.ts'
import { applyEntry, bookEntries, countEntries, emptyBook } from './book.ts'
import { healthyPlan } from './faults.ts'
import type { House } from './http.ts'
import { createHttpServer } from './http.ts'
import { openJournal, replayJournal, rewriteJournal } from './journal.ts'
import { startNotifier } from './notifications.ts'
import type { Psp } from './psp.ts'
import { record, showPix } from './psp.ts'
import { resumeRefunds } from './refunds.ts'
import { ROUTES } from './routes.ts'
import { notificationUrl } from './webhooks.ts'

// The sandbox: a payment service provider of its own that speaks API Pix over HTTP, with a second face (/bank) on which
// one plays the payer and the weather. It knows nothing of guiche, and guiche reaches it as it would reach any bank.
export type Sandbox = { readonly url: string; readonly port: number; stop(): Promise<void> }

export type SandboxOptions = {
  // A directory of its own; it holds the address and the journal.
  home: string
  // 0: the port of last time if it is free, else any free one.
  port: number
  host?: string
  now?: () => Date
  say?: (line: string) => void
}

type Settled = { home: string; port: number; host: string; now: () => Date; say: (line: string) => void }

type Door = Listener & { house: House; open(psp: Psp): void; fail(error: unknown): void }

const WATCH_MS = 500
// Requests that are being worked on get this long at a stop; those that hang are not waited for.
const DRAIN_MS = 300
// Rewriting is worth its while when most of a journal of some size says nothing any more.
const COMPACT_MIN_LINES = 10_000

export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const settled: Settled = {
    host: '127.0.0.1',
    now: () => new Date(),
    say: () => undefined,
    ...options,
  }
  await mkdir(settled.home, { recursive: true, mode: 0o700 })
  const claim = await claimDoor(settled)
  return 'lead' in claim ? lead(settled, claim) : follow(settled, claim.follow)
}

// A live sandbox on this home, whichever process runs it.
export async function findSandbox(home: string): Promise<{ url: string } | undefined> {
  const address = await readAddress(home)
  if (!address || (await probe(address)) !== 'ours') return undefined
  return { url: urlOf(address) }
}

async function lead(options: Settled, claim: { lead: Door; address: Address }): Promise<Sandbox> {
  const { lead: door, address } = claim
  const url = urlOf(address)
  try {
    const psp = await openPsp(options, address)
    door.open(psp)
    options.say(`sandbox: a bank for tests at ${url}`)
    let stopping: Promise<void> | undefined
    return { url, port: door.port, stop: () => (stopping ??= shutDown(door, psp)) }
  } catch (error) {
    door.fail(error)
    await door.close()
    throw error
  }
}

// Another process runs the sandbox of this home. This one watches, and takes over with the same journal when it is gone.
function follow(options: Settled, first: Address): Sandbox {
  let address = first
  let own: Sandbox | undefined
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let turn: Promise<void> = Promise.resolve()
  options.say(`sandbox: using the one that already runs at ${urlOf(address)}`)

  const watch = async () => {
    const found = await probe(address)
    if (found === 'ours' || found === 'silent' || stopped) return
    const claim = await claimDoor({ ...options, port: 0 })
    if ('follow' in claim) {
      address = claim.follow
      return
    }
    address = claim.address
    own = await lead(options, claim)
  }
  const schedule = () => {
    timer = setTimeout(() => {
      turn = watch()
        .catch((error: Error) => options.say(`sandbox: could not take over: ${error.message}`))
        .finally(() => (own || stopped ? undefined : schedule()))
    }, WATCH_MS).unref()
  }
  schedule()
  return {
    get url() {
      return urlOf(address)
    },
    get port() {
      return address.port
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await turn
      await own?.stop()
    },
  }
}

async function openPsp(options: Settled, address: Address): Promise<Psp> {
  const path = join(options.home, 'journal.jsonl')
  const book = emptyBook()
  const { lines } = await replayJournal(path, (entry) => applyEntry(book, entry, 0))
  if (lines > COMPACT_MIN_LINES && lines > 2 * countEntries(book)) await rewriteJournal(path, bookEntries(book))

  const psp: Psp = {
    id: address.sandbox,
    port: address.port,
    now: options.now,
    book,
    journal: await openJournal(path),
    tokens: new Map(),
    plan: healthyPlan(),
    calls: new Map(ROUTES.map(({ operation }) => [operation, 0])),
    refunding: new Set(),
    notifier: startNotifier({
      plan: () => psp.plan,
      urlFor: (chave) => notificationUrl(psp, chave),
      bodyFor: (pix) => showPix(psp, pix),
      settled: (pix) => record(psp, { kind: 'told', endToEndIds: pix.map(({ facts }) => facts.endToEndId) }),
    }),
  }
  resumeRefunds(psp)
  for (const pix of book.pix) if (pix.owed) psp.notifier.notify(pix)
  return psp
}

// The port is the lock on the journal, so it is given back last.
async function shutDown(door: Door, psp: Psp): Promise<void> {
  const { house } = door
  house.draining = true
  const until = Date.now() + DRAIN_MS
  while (house.busy > 0 && Date.now() < until) await new Promise((done) => setTimeout(done, 5))
  await psp.notifier.stop()
  await psp.journal.close()
  await door.close()
}

function claimDoor(options: Settled): Promise<Claim<Door>> {
  const { home, host, port } = options
  return claimAddress<Door>({
    home,
    host: reachableHost(host),
    port,
    listen: (port, sandbox) => listen({ host, port, sandbox }),
  })
}

async function listen(at: { host: string; port: number; sandbox: string }): Promise<Door | undefined> {
  let open: Door['open'] = () => undefined
  let fail: Door['fail'] = () => undefined
  const psp = new Promise<Psp>((resolve, reject) => {
    open = resolve
    fail = reject
  })
  psp.catch(() => undefined)
  const house: House = { id: at.sandbox, psp, draining: false, busy: 0 }
  const server = createHttpServer(house)
  if (!(await bind(server, at))) return undefined
  return {
    port: at.port,
    house,
    open,
    fail,
    close: () =>
      new Promise((done) => {
        server.close(() => done())
        server.closeAllConnections()
      }),
  }
}

function bind(server: Server, at: { host: string; port: number }): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(error)
    })
    server.listen(at.port, at.host, () => resolve(true))
  })
}

const reachableHost = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host)

const urlOf = ({ host, port }: Address): string => `http://${host.includes(':') ? `[${host}]` : host}:${port}`
