import { hash } from '@node-rs/argon2'
import { Fault } from '../base/fault.ts'
import { newUuid7, randomPassword } from '../base/ids.ts'
import type { Pool } from '../db/pool.ts'
import { read, transact, type Tx } from '../db/tx.ts'
import { makeBalanceAccount } from './ledger.ts'

// argon2id with what OWASP names as the least for it: 19 MiB, two passes.
const ARGON2 = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const MIN_PASSWORD_LENGTH = 12
const MAX_PASSWORD_LENGTH = 200

export type NewAccount = { email: string; name: string; password: string | null }
export type Account = { accountId: string; email: string; name: string }

/** An account holder, with a ledger account. Without a password, a random one is made, and returned this once. */
export async function createAccount(
  pool: Pool,
  now: Date,
  account: NewAccount,
): Promise<Account & { password: string }> {
  const email = checkEmail(account.email)
  const name = account.name.trim()
  if (name.length < 1 || name.length > 100)
    throw new Fault('bad_request', 'an account needs a name of 1 to 100 characters')
  const password = account.password ?? randomPassword()
  if (password.length < MIN_PASSWORD_LENGTH || password.length > MAX_PASSWORD_LENGTH) {
    throw new Fault('bad_request', `a password has ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters`)
  }
  const passwordHash = await hash(password, ARGON2)
  const accountId = await transact(pool, (tx) => insertAccount(tx, now, { email, name, passwordHash }))
  return { accountId, email, name, password }
}

export async function findAccount(pool: Pool, email: string): Promise<Account | undefined> {
  const [row] = await read<Account>(
    pool,
    'select id as "accountId", email, name from accounts where email = lower($1)',
    [email.trim()],
  )
  return row
}

export async function countAccounts(pool: Pool): Promise<number> {
  const [row] = await read<{ count: number }>(pool, 'select count(*) as count from accounts')
  return row!.count
}

async function insertAccount(
  tx: Tx,
  now: Date,
  account: { email: string; name: string; passwordHash: string },
): Promise<string> {
  const accountId = newUuid7(now)
  const made = await tx.run(
    `insert into accounts (id, email, name, password_hash, created_at) values ($1, $2, $3, $4, $5) on conflict (email) do nothing`,
    [accountId, account.email, account.name, account.passwordHash, now],
  )
  if (made === 0) throw new Fault('conflict', `an account with the e-mail ${account.email} exists already`)
  await makeBalanceAccount(tx, accountId)
  return accountId
}

function checkEmail(text: string): string {
  const email = text.trim().toLowerCase()
  if (email.length > 254 || !/^[^\s@]+@[^\s@]+$/.test(email))
    throw new Fault('bad_request', `not an e-mail address: ${text.slice(0, 80)}`)
  return email
}
