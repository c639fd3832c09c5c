import { expect, test } from 'vitest'
import { query } from '../src/db/tx.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { makeNumberingMemory, numberPending } from '../src/domain/history/number-pending.ts'
import { followHistory } from '../src/domain/notices/follow-history.ts'
import { listNotices, markSeen, writeChoices } from '../src/domain/notices/list-notices.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { tell } from '../src/workers/tell.ts'
import { OPERATOR } from './refund-steps.ts'
import { world, type TestAccount, type World } from './world.ts'

const MINUTE_MS = 60_000

test('held money is told once when it arrives and once when it is decided', async () => {
  const w = await begin()
  const account = await w.account()
  await underpaid(w, account)
  await follow(w)
  await follow(w)
  expect(await bell(w, account)).toEqual([
    { kind: 'money_held', what: 'began', text: expect.stringContaining('Chegaram R$ 90,00 para o depósito') },
  ])

  await resolveNewest(w)
  await follow(w)
  expect(await bell(w, account)).toEqual([
    { kind: 'money_held', what: 'ended', text: expect.stringContaining('não foi creditado') },
    { kind: 'money_held', what: 'ended', text: expect.stringContaining('Chegaram R$ 90,00') },
  ])
})

test('the first notice comes by e-mail at once, and what follows within the hour in one digest', async () => {
  const w = await begin()
  const account = await w.account()
  await underpaid(w, account)
  await untilSent(w)
  expect(w.letters.map(({ to, subject }) => ({ to, subject }))).toEqual([
    { to: account.email, subject: 'guiche: Pagamentos em análise' },
  ])
  for (let count = 0; count < 3; count++) {
    await underpaid(w, account)
    await untilSent(w)
  }
  expect(w.letters).toHaveLength(1)
  w.clock.advance(60 * MINUTE_MS)
  await untilSent(w)
  expect(w.letters.map(({ subject }) => subject).slice(1)).toEqual(['guiche: 3 avisos'])
})

test('a mail server that refuses is asked again, and the e-mail keeps its id', async () => {
  const w = await begin()
  const ids: string[] = []
  let refuses = true
  w.ctx.mailer.deliver = async ({ id }) => {
    ids.push(id)
    if (refuses) throw new Error('550 not now')
  }
  await underpaid(w, await w.account())
  await untilSent(w)
  refuses = false
  w.clock.advance(2 * MINUTE_MS)
  await untilSent(w)
  w.clock.advance(60 * MINUTE_MS)
  await untilSent(w)
  expect(ids).toEqual([ids[0], ids[0]])
  expect(await query(w.pool, 'select attempts, failure, due_at from notice_emails')).toEqual([
    { attempts: 2, failure: null, due_at: null },
  ])
})

test('what a person does not want by e-mail is in the bell all the same', async () => {
  const w = await begin()
  const account = await w.account()
  await writeChoices(w.ctx, await userOf(w, account), { off: ['money_held'], language: 'en' })
  await underpaid(w, account)
  await untilSent(w)
  expect(w.letters).toEqual([])
  expect(await bell(w, account)).toHaveLength(1)
})

test('a webhook that fails for a quarter of an hour is one trouble, and its end is told', async () => {
  const w = await begin()
  const account = await w.account()
  await addWebhook(w, account)
  await query(w.pool, 'update webhooks set failing_since = $1', [w.clock.now()])
  await follow(w)
  expect(await bell(w, account)).toEqual([])
  for (let minute = 0; minute < 30; minute++) {
    w.clock.advance(MINUTE_MS)
    await follow(w)
  }
  expect(await bell(w, account)).toMatchObject([{ kind: 'webhook_failing', what: 'began' }])
  await query(w.pool, 'update webhooks set failing_since = null')
  w.clock.advance(MINUTE_MS)
  await follow(w)
  expect(await bell(w, account)).toMatchObject([{ what: 'ended' }, { what: 'ended' }])
})

test('what has been seen is not counted', async () => {
  const w = await begin()
  const account = await w.account()
  await underpaid(w, account)
  await follow(w)
  const reader = await readerOf(w, account)
  const page = () => listNotices(w.ctx, reader, { limit: 10, language: 'en' })
  expect((await page()).unseen).toBe(1)
  await markSeen(w.ctx, reader.userId, 1_000)
  expect(await page()).toMatchObject({ unseen: 0, notices: [{ isSeen: true }] })
  await underpaid(w, account)
  await follow(w)
  expect(await page()).toMatchObject({ unseen: 1, notices: [{ isSeen: false }, { isSeen: true }] })
})

test('two processes that follow at once tell each event once', async () => {
  const w = await begin()
  const account = await w.account()
  for (let count = 0; count < 5; count++) await underpaid(w, account)
  await number(w)
  const ends = await Promise.all([followHistory(w.ctx), followHistory(w.ctx), followHistory(w.ctx)])
  expect(ends).toContain('done')
  await follow(w)
  expect(await bell(w, account)).toHaveLength(5)
})

// ---- Steps ----

/** What was told before is passed. */
async function begin(): Promise<World> {
  const w = await world()
  await follow(w)
  return w
}

async function number(w: World): Promise<void> {
  const memory = makeNumberingMemory()
  while ((await numberPending(w.ctx, memory)) !== 'idle');
}

async function follow(w: World): Promise<void> {
  await number(w)
  await tell(w.ctx)
}

/** Longer than notices are gathered. */
async function untilSent(w: World): Promise<void> {
  await follow(w)
  w.clock.advance(11_000)
  while ((await tell(w.ctx)) === 'more');
}

async function underpaid(w: World, account: TestAccount): Promise<void> {
  const charge = await w.deposit(account, { valueCents: 100_00 })
  await w.sandbox.pay({ emv: charge.emv, amountCents: 90_00 })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
}

async function resolveNewest(w: World): Promise<void> {
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 1 })
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, { how: 'write_off' }, 'the payer does not answer')
}

async function userOf(w: World, { accountId }: TestAccount): Promise<string> {
  const [row] = await query<{ user_id: string }>(w.pool, 'select user_id from accounts where id = $1', [accountId])
  return row!.user_id
}

async function readerOf(w: World, account: TestAccount) {
  return { userId: await userOf(w, account), accountId: account.accountId, may: () => true }
}

async function bell(w: World, account: TestAccount) {
  const { notices } = await listNotices(w.ctx, await readerOf(w, account), { limit: 20, language: 'pt-BR' })
  return notices.map(({ kind, what, text }) => ({ kind, what, text }))
}

async function addWebhook(w: World, account: TestAccount): Promise<void> {
  const session = await w.session(account)
  await session.ask('POST', '/dashboard/api/webhooks', { name: 'Loja', url: 'https://loja.example/hook' })
}
