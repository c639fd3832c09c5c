import { Fault } from '../../base/fault.ts'
import { transact } from '../../db/tx.ts'
import { countAccounts, createAccount, findAccount } from '../accounts/accounts.ts'
import { createKey } from '../accounts/api-keys.ts'
import { SCOPES } from '../accounts/callers.ts'
import type { Context } from '../context.ts'

export type DemoAccount = { email: string; made: { password: string; key: string } | undefined }

export const DEMO_EMAIL = 'demo@guiche.example'

/** On the first start of a sandbox, creates one account with one key. Undefined: there are other accounts. */
export async function makeDemoAccount(ctx: Context): Promise<DemoAccount | undefined> {
  const made = (await countAccounts(ctx)) === 0 ? await tryMake(ctx) : undefined
  if (made) return { email: DEMO_EMAIL, made }
  return (await findAccount(ctx, DEMO_EMAIL)) && { email: DEMO_EMAIL, made: undefined }
}

async function tryMake(ctx: Context): Promise<DemoAccount['made']> {
  try {
    const { accountId, password } = await createAccount(ctx, { email: DEMO_EMAIL, name: 'Demo', password: null })
    const { text } = await transact(ctx.pool, (tx) =>
      createKey(tx, ctx.now(), 'test', { accountId, name: 'demo', scopes: [...SCOPES], expiresAt: null }),
    )
    return { password, key: text }
  } catch (error) {
    // Another process started at the same moment and created the account.
    if (error instanceof Fault && error.code === 'email_taken') return undefined
    throw error
  }
}
