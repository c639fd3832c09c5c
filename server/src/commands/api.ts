import type { GuicheError, Guiche, Operations } from '#sdk'
import { Fault } from '../base/fault.ts'
import { OperatorError } from '../base/operator-error.ts'
import type { Remote } from '../config/config.ts'
import { findAccount, type Account } from '../domain/accounts/accounts.ts'
import type { Core } from '../domain/core/core.ts'
import { consoleActor, withContext, type Terminal } from './terminal.ts'

/**
 * The API of the service that GUICHE_URL names, or of the database of this machine, where the console answers in this
 * process.
 */
export type Api = Pick<Guiche, 'call' | 'codes' | 'deposits' | 'events' | 'statement'> & {
  /** Undefined: the service is elsewhere. */
  core?: Core
  /** Reads page by page, up to the limit. */
  list<Name extends ListName>(name: Name, query: ListQuery<Name>): Promise<Page<ItemOf<Name>>>
  accountId(email: string): Promise<string>
  /** Without an e-mail: for the account of the key, or for all accounts in the database. */
  as(email: string | undefined): Promise<Api>
}

export type Answer<Name extends keyof Operations> = Operations[Name]['answer']
/** In the database, webhooks and events come with the e-mail of their account. */
export type WithAccount<Item> = Item & { account?: string }

type Work<Args extends unknown[]> = (api: Api, terminal: Terminal, ...args: Args) => Promise<void>

export const BY_API = `
It uses the API, from anywhere. Set GUICHE_URL to the service, such as https://pay.example.com, and GUICHE_KEY to an API
key of the account, from the dashboard or: guiche key create`

type Open = (terminal: Terminal, work: (core: Core) => Promise<void>) => Promise<void>

/**
 * Acts at the service that GUICHE_URL names, or else in the database. `withDatabase` opens sooner, and is enough for
 * routes that call no provider.
 */
export function apiAction<Args extends unknown[]>(terminal: Terminal, work: Work<Args>, open: Open = withContext) {
  return async (...args: Args): Promise<void> => {
    const remote = terminal.loadRemote()
    if (remote) return atService(remote, terminal, (api) => work(api, terminal, ...args))
    await open(terminal, (core) => atConsole(core, (api) => work(api, terminal, ...args)))
  }
}

export function serviceAction<Args extends unknown[]>(terminal: Terminal, work: Work<Args>) {
  return async (...args: Args): Promise<void> => {
    const remote = terminal.loadRemote()
    if (!remote)
      throw new OperatorError(
        'Set GUICHE_URL to the service, such as http://localhost:3000, and GUICHE_KEY to an API key of the account',
      )
    await atService(remote, terminal, (api) => work(api, terminal, ...args))
  }
}

/** A test of a webhook takes up to 15 seconds, and a provider may take longer. */
const TIMEOUT_MS = 60_000
/** Longer than a restart of the service behind a proxy. */
const RETRY_FOR_MS = 4_000

async function atService({ url, key }: Remote, terminal: Terminal, work: (api: Api) => Promise<void>): Promise<void> {
  if (key === undefined || !/^[\x21-\x7e]+$/.test(key))
    throw new OperatorError('GUICHE_KEY must be an API key, gk_live_… or gk_test_…, since GUICHE_URL is set')
  const { GuicheError, makeGuiche } = await import('#sdk')
  let method: string | undefined
  const guiche = makeGuiche({
    url,
    key,
    timeoutMs: TIMEOUT_MS,
    retryForMs: RETRY_FOR_MS,
    onRetry: (error) => terminal.say(`${refusalText(url, error)}; trying again…`),
    onWarning: terminal.say,
    fetch: (input, init) => {
      method = init?.method
      return fetch(input, init)
    },
  })
  const api: Api = {
    ...guiche,
    list: makeList(guiche),
    async accountId(email) {
      const { items } = await api.list('listAccounts', { search: email, limit: MAX_SIMILAR })
      return items.find((account) => account.email === email.toLowerCase())?.id ?? refuseUnknown(email)
    },
    async as(email) {
      if (email === undefined) return api
      throw new OperatorError('--email and GUICHE_URL exclude each other: GUICHE_KEY already belongs to an account')
    },
  }
  try {
    await work(api)
  } catch (error) {
    if (!(error instanceof GuicheError)) throw error
    const isUnknown = method !== 'GET' && hasUnknownOutcome(error)
    throw new OperatorError(refusalText(url, error) + (isUnknown ? adviceAfter(error) : ''), { cause: error })
  }
}

async function atConsole(core: Core, work: (api: Api) => Promise<void>): Promise<void> {
  // Loaded here, so that other commands start sooner.
  const [{ GuicheError, makeGuiche }, { ALL_ACCOUNTS, makeConsole }] = await Promise.all([
    import('#sdk'),
    import('../http/console.ts'),
  ])
  const fetch = await makeConsole(core, consoleActor())
  const apiFor = (key: string): Api => {
    const guiche = makeGuiche({ url: 'http://localhost', key, fetch, retryForMs: 0 })
    const accountId = async (email: string) => (await requireAccount(core, email)).accountId
    const as: Api['as'] = async (email) => apiFor(email === undefined ? ALL_ACCOUNTS : await accountId(email))
    return { ...guiche, core, list: makeList(guiche), accountId, as }
  }
  try {
    await work(apiFor(ALL_ACCOUNTS))
  } catch (error) {
    if (!(error instanceof GuicheError)) throw error
    throw error.cause ?? new OperatorError(error.message)
  }
}

/** The search finds each e-mail that contains this one. */
const MAX_SIMILAR = 100

export async function requireAccount(core: Core, email: string): Promise<Account> {
  return (await findAccount(core, email)) ?? refuseUnknown(email)
}

function refuseUnknown(email: string): never {
  throw new Fault(
    'not_found',
    `No account has the e-mail ${email}; create it with: guiche account create --email ${email}`,
  )
}

// ---- Lists ----

type Page<Item> = { items: Item[]; nextCursor: string | null }
type ListName = {
  [Name in keyof Operations]: Answer<Name> extends { nextCursor: string | null } ? Name : never
}[keyof Operations]
type ItemOf<Name extends ListName> = {
  [Field in keyof Answer<Name>]: Answer<Name>[Field] extends (infer Item)[] ? Item : never
}[keyof Answer<Name>]
type Queries = { [Name in ListName]: Operations[Name] extends { query?: infer Query } ? Query : never }
type ListQuery<Name extends ListName> = { [Field in keyof Queries[Name]]: Queries[Name][Field] | Date | undefined } & {
  limit: number
}

/** The limit of the API. */
const MAX_PAGE = 100

function makeList({ call }: Guiche): Api['list'] {
  return async <Name extends ListName>(name: Name, { limit, ...given }: ListQuery<Name>) => {
    const items: ItemOf<Name>[] = []
    const filter = Object.entries(given).map(([field, value]) => [
      field,
      value instanceof Date ? value.toISOString() : value,
    ])
    let cursor: string | null = null
    do {
      const size = Math.min(limit - items.length, MAX_PAGE)
      const query = { ...Object.fromEntries(filter), limit: size, ...(cursor && { cursor }) }
      const answer: { nextCursor: string | null } = await call(name, { query } as never)
      items.push(...(Object.values<unknown>(answer).find(Array.isArray) as ItemOf<Name>[]))
      cursor = answer.nextCursor
    } while (cursor !== null && items.length < limit)
    return { items, nextCursor: cursor }
  }
}

// ---- Refusals of a service ----

function refusalText(url: string, { code, status, message }: GuicheError): string {
  if (status === undefined || code === 'unexpected_answer') return `GUICHE_URL ${url}: ${message}`
  if (status === 401) return `GUICHE_KEY is not accepted by ${url}: ${message}`
  if (status === 403) return `GUICHE_KEY does not allow this at ${url}: ${message}`
  return message
}

/** The connection was never made, so nothing was done. */
const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']

function hasUnknownOutcome({ code, status, cause }: GuicheError): boolean {
  const { code: reason = '' } = ((cause as Error | undefined)?.cause ?? {}) as NodeJS.ErrnoException
  if (code === 'network') return !NOT_SENT.includes(reason)
  // A proxy sends these statuses after it has passed the request on.
  return code === 'timeout' || code === 'internal' || (code === 'unexpected_answer' && [502, 504].includes(status ?? 0))
}

function adviceAfter({ idempotencyKey }: GuicheError): string {
  const advice =
    idempotencyKey === undefined
      ? 'look before you repeat it'
      : `repeat the command with --idempotency-key ${idempotencyKey}, which does it once`
  return `. Whether it was done is not known: ${advice}`
}
