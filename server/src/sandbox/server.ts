import { randomInt } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { tryLock, waitToRetry, type Lock } from '../base/directory-lock.ts'
import { OperatorError } from '../base/operator-error.ts'
import { findRunning, readAddress, urlOf, writeAddress, type Address } from './address.ts'
import { BANKS, type Bank, type Demands } from './banks.ts'
import { applyEntry, emptyBook } from './book.ts'
import { openAuthority, type CertificateFiles } from './certificates.ts'
import { healthyPlan } from './faults.ts'
import { createHttpServer, type BankServer, type ServerState } from './http.ts'
import { openJournal, replayJournal } from './journal.ts'
import { startNotifier } from './notifications.ts'
import { record, showPix, type Psp } from './psp.ts'
import { resumeRefunds } from './refunds.ts'
import { ROUTES } from './routes.ts'
import { notificationUrl } from './webhooks.ts'

// A payment service provider that speaks API Pix over HTTP. Under /bank it lets you act as the payer and inject faults.
// guiche reaches it as any bank.
export type Sandbox = {
  url: string
  port: number
  pid: number
  // Of a sandbox that behaves as a bank: what a customer of it needs.
  customer?: { url: string; tokenUrl: string; files: CertificateFiles }
  // Of a sandbox that runs in this process.
  psp?: Psp
  stop(): Promise<void>
}

export type SandboxOptions = {
  home: string
  // 0: the port of the last run if it is free, else any free port.
  port: number
  host?: string
  // A service that starts during a command waits for its end, or it would lose its bank.
  isBrief?: boolean
  // Behaves as this bank, and refuses every other way of being called. Without it, any way is taken.
  as?: Bank | undefined
  now?: () => Date
  say?: (line: string) => void
}

type ResolvedOptions = Required<Omit<SandboxOptions, 'as'>> & Pick<SandboxOptions, 'as'>

const OWNER_WAIT_MS = 30_000
// For requests in progress at a stop.
const DRAIN_MS = 300
// Below the ranges of outgoing ports, which could take the recorded one.
const PORT_FROM = 21_000
const PORT_SPAN = 11_000
const FREE_PORT_TRIES = 50

// The first process on a home runs its sandbox. Another one gets its address.
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const resolved: ResolvedOptions = {
    host: '127.0.0.1',
    isBrief: false,
    now: () => new Date(),
    say: () => undefined,
    ...options,
  }
  const { home, isBrief } = resolved
  await mkdir(home, { recursive: true, mode: 0o700 })
  for (const deadline = performance.now() + OWNER_WAIT_MS; ; await waitToRetry()) {
    const lock = await tryLock(home)
    if ('release' in lock) return run(resolved, lock)
    const running = await findRunning(home)
    if (running && (isBrief || !running.isBrief)) return use(resolved, running)
    if (performance.now() > deadline) throw sandboxError(explainWait(home, running, lock.heldBy.pid))
  }
}

const sandboxError = (text: string): OperatorError => new OperatorError(text, { topic: 'sandbox' })

function explainWait(home: string, running: Address | undefined, pid: number): string {
  if (!running) return `Process ${pid} has been starting the sandbox of ${home} for too long`
  return `The sandbox of ${home} runs in process ${running.pid}, a command: start again when that has ended`
}

function use({ home, say }: ResolvedOptions, running: Address): Sandbox {
  const { port, pid } = running
  const url = urlOf(running)
  say(`sandbox: using the one of ${home} in process ${pid} at ${url}; it stops when that process ends`)
  return { url, port, pid, stop: async () => undefined }
}

async function run(options: ResolvedOptions, lock: Lock): Promise<Sandbox> {
  const { home, host, isBrief, say } = options
  const { pid } = process
  let psp: Psp | undefined
  try {
    psp = await openPsp(options)
    const state: ServerState = { psp, host, isDraining: false, busy: 0 }
    const authority = options.as ? openAuthority(join(home, 'tls'), reachableHost(host)) : undefined
    const server = createHttpServer(state, authority?.server)
    const port = await listen(server, options, (await readAddress(home))?.port)
    psp.port = port
    const address = { host: reachableHost(host), port, pid, lock: lock.name, isBrief }
    await writeAddress(home, address)
    const url = urlOf(address)
    say(`sandbox: a bank for tests at ${url}`)
    let stopping: Promise<void> | undefined
    const customer = authority && psp.bank && { ...customerUrls(url, psp.bank), files: authority.files }
    return {
      url,
      port,
      pid,
      psp,
      ...(customer && { customer }),
      stop: () => (stopping ??= shutDown(server, state, lock)),
    }
  } catch (error) {
    if (psp) await closePsp(psp)
    await lock.release()
    throw error
  }
}

function customerUrls(url: string, { basePath, tokenPath }: Demands) {
  const secure = url.replace('http:', 'https:')
  return { url: secure + basePath, tokenUrl: secure + tokenPath }
}

async function openPsp(options: ResolvedOptions): Promise<Psp> {
  const path = join(options.home, 'journal.jsonl')
  const book = emptyBook()
  await replayJournal(path, (entry) => applyEntry(book, entry, 0))
  const psp: Psp = {
    port: 0,
    now: options.now,
    book,
    journal: await openJournal(path),
    tokens: new Map(),
    bank: options.as && BANKS[options.as],
    callIds: new Set(),
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

async function closePsp(psp: Psp): Promise<void> {
  await psp.notifier.stop()
  await psp.journal.close()
}

// The lock protects the journal, so it is released last.
async function shutDown(server: BankServer, state: ServerState, lock: Lock): Promise<void> {
  state.isDraining = true
  const until = Date.now() + DRAIN_MS
  while (state.busy > 0 && Date.now() < until) await new Promise((done) => setTimeout(done, 5))
  await closePsp(state.psp)
  await new Promise<void>((done) => {
    server.close(() => done())
    server.closeAllConnections()
  })
  await lock.release()
}

// Clients know the port of the last run.
async function listen(
  server: BankServer,
  { host, port }: ResolvedOptions,
  lastPort: number | undefined,
): Promise<number> {
  if (port !== 0) {
    if (await bind(server, host, port)) return port
    throw sandboxError(`Port ${port} is in use by another program; choose another port for the sandbox`)
  }
  for (let tries = 0; tries < FREE_PORT_TRIES; tries++) {
    const candidate = tries === 0 && lastPort ? lastPort : PORT_FROM + randomInt(PORT_SPAN)
    if (await bind(server, host, candidate)) return candidate
  }
  throw sandboxError(`No free port found from ${PORT_FROM} to ${PORT_FROM + PORT_SPAN - 1}`)
}

function bind(server: BankServer, host: string, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else reject(error)
    }
    server.once('error', onError)
    // `exclusive` keeps the socket in this process, so that its connections end with it.
    server.listen({ port, host, exclusive: true }, () => {
      server.off('error', onError)
      resolve(true)
    })
  })
}

const reachableHost = (host: string): string => (host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host)
