import { query } from '../src/db/tx.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { makeNumberingMemory, numberPending } from '../src/domain/history/number-pending.ts'
import { listNotices } from '../src/domain/notices/list-notices.ts'
import { mail, tell } from '../src/workers/tell.ts'
import { world, type TestAccount, type World } from './world.ts'

// What happens, and how people read of it.

export const MINUTE_MS = 60_000

/** What was told before is passed. */
export async function begin(options?: Parameters<typeof world>[0]): Promise<World> {
  const w = await world(options)
  await follow(w)
  return w
}

export async function number(w: World): Promise<void> {
  const memory = makeNumberingMemory()
  while ((await numberPending(w.ctx, memory)) !== 'idle');
}

export async function follow(w: World): Promise<void> {
  await number(w)
  await tell(w.ctx)
}

/** Longer than notices are gathered. */
export async function untilSent(w: World): Promise<void> {
  await follow(w)
  w.clock.advance(11_000)
  while ((await mail(w.ctx)) === 'more');
}

export async function underpaid(w: World, account: TestAccount): Promise<void> {
  const charge = await w.deposit(account, { valueCents: 100_00 })
  await w.sandbox.pay({ emv: charge.emv, amountCents: 90_00 })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
}

export async function userOf(w: World, { accountId }: TestAccount): Promise<string> {
  const [row] = await query<{ user_id: string }>(w.pool, 'select user_id from accounts where id = $1', [accountId])
  return row!.user_id
}

export async function readerOf(w: World, account: TestAccount) {
  return { userId: await userOf(w, account), accountId: account.accountId, may: () => true }
}

export async function bell(w: World, account: TestAccount) {
  const { notices } = await listNotices(w.ctx, await readerOf(w, account), { limit: 20, language: 'pt-BR' })
  return notices.map(({ kind, what, text }) => ({ kind, what, text }))
}
