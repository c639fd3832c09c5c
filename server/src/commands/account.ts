import { text } from 'node:stream/consumers'
import { Fault } from '../base/fault.ts'
import type { Config } from '../config.ts'
import type { Pool } from '../db/pool.ts'
import { createAccount, findAccount, type Account } from '../domain/accounts.ts'
import { withDatabase, type Terminal } from './terminal.ts'

export async function createAccountCommand(
  config: Config,
  terminal: Terminal,
  options: { email: string; name?: string; passwordStdin?: boolean },
): Promise<void> {
  const given = options.passwordStdin ? (await text(process.stdin)).replace(/\r?\n$/, '') : null
  await withDatabase(config, terminal, async (pool) => {
    const { password, ...account } = await createAccount(pool, new Date(), {
      email: options.email,
      name: options.name ?? options.email,
      password: given,
    })
    terminal.print(JSON.stringify({ ...account, ...(given === null && { password }) }, null, 2))
  })
}

export async function requireAccount(pool: Pool, email: string): Promise<Account> {
  const account = await findAccount(pool, email)
  if (account) return account
  throw new Fault(
    'not_found',
    `no account has the e-mail ${email}; make it with: guiche account create --email ${email}`,
  )
}
