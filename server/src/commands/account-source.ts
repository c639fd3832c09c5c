import { Fault } from '../base/fault.ts'
import {
  findAccount,
  listAccounts,
  readAccount,
  resumeAccount,
  suspendAccount,
  type Account,
} from '../domain/accounts/accounts.ts'
import { endSessions } from '../domain/accounts/sessions.ts'
import type { Core } from '../domain/core/core.ts'
import type { presentAccount } from '../http/operator/accounts.ts'
import { path, type Service } from './service.ts'
import type { Places } from './source.ts'
import { consoleActor, withDatabase } from './terminal.ts'

type Presented = ReturnType<typeof presentAccount>
/** An account by its e-mail, and why it is changed. */
export type AccountChange = { email: string; reason: string }

/** What operators do with accounts from anywhere. */
export type Accounts = {
  list(filter: { search?: string; limit: number }): Promise<{ accounts: Presented[]; nextCursor: string | null }>
  suspend(change: AccountChange): Promise<Presented>
  resume(change: AccountChange): Promise<Presented>
  /** Resolves to how many sessions ended. */
  signOut(change: AccountChange): Promise<number>
}

export const ACCOUNTS: Places<Core, Accounts> = { open: withDatabase, inDatabase, atService }

async function inDatabase(core: Core): Promise<Accounts> {
  const { presentAccount } = await import('../http/operator/accounts.ts')
  const change = (work: typeof suspendAccount) => async (wanted: AccountChange) => {
    const { accountId } = await requireAccount(core, wanted.email)
    await work(core, consoleActor(), accountId, wanted.reason)
    return presentAccount((await readAccount(core, accountId)).account)
  }
  return {
    async list(filter) {
      const { accounts, nextCursor } = await listAccounts(core, filter)
      return { accounts: accounts.map(presentAccount), nextCursor }
    },
    suspend: change(suspendAccount),
    resume: change(resumeAccount),
    async signOut({ email, reason }) {
      const { accountId } = await requireAccount(core, email)
      return endSessions(core, consoleActor(), accountId, reason)
    },
  }
}

function atService(service: Service): Accounts {
  const post = async <Answer>(what: string, { email, reason }: AccountChange) => {
    const id = await findAccountAt(service, email)
    return service.ask<Answer>('POST', path`/api/operator/accounts/${id}/${what}`, { body: { reason } })
  }
  return {
    async list(filter) {
      const { items, nextCursor } = await service.list<Presented>('/api/operator/accounts', 'accounts', filter)
      return { accounts: items, nextCursor }
    },
    suspend: async (change) => (await post<{ account: Presented }>('suspend', change)).account,
    resume: async (change) => (await post<{ account: Presented }>('resume', change)).account,
    signOut: async (change) => (await post<{ ended: number }>('sign-out', change)).ended,
  }
}

export async function requireAccount(core: Core, email: string): Promise<Account> {
  return (await findAccount(core, email)) ?? refuseUnknown(email)
}

/** Null means all accounts. */
export async function accountIdOf(core: Core, email: string | undefined): Promise<string | null> {
  return email === undefined ? null : (await requireAccount(core, email)).accountId
}

/** Few e-mails contain the whole of another one. */
const MAX_SIMILAR = 100

/** The id of the account at a service elsewhere. */
export async function findAccountAt({ list }: Service, email: string): Promise<string> {
  const query = { search: email, limit: MAX_SIMILAR }
  const { items } = await list<Presented>('/api/operator/accounts', 'accounts', query)
  const found = items.find((account) => account.email === email.toLowerCase())
  return found?.id ?? refuseUnknown(email)
}

function refuseUnknown(email: string): never {
  throw new Fault(
    'not_found',
    `no account has the e-mail ${email}; create it with: guiche account create --email ${email}`,
  )
}
