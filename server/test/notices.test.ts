import { expect, test } from 'vitest'
import { query } from '../src/db/tx.ts'
import { eraseAccount } from '../src/domain/accounts/erase-account.ts'
import { listNotices, markSeen, writeChoices } from '../src/domain/notices/list-notices.ts'
import { isTrouble, NOTICE_KIND_NAMES, noticeText, type NoticeKind } from '../src/domain/notices/notice-kinds.ts'
import { NOTICE_LANGUAGES } from '../src/domain/notices/notice-words.ts'
import { listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { begin, bell, follow, MINUTE_MS, readerOf, underpaid, untilSent, userOf } from './notice-steps.ts'
import { OPERATOR } from './refund-steps.ts'
import { recordStatements } from './statements.ts'
import type { TestAccount, World } from './world.ts'

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
  await writeChoices(w.ctx, await userOf(w, account), {
    off: ['money_held'],
    language: 'en',
    emailLanguage: 'dashboard',
  })
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

test('e-mails are in the language of the dashboard, unless the person chose another for them', async () => {
  const w = await begin()
  const account = await w.account()
  const reader = await readerOf(w, account)
  const subjects = async () => {
    await underpaid(w, account)
    await untilSent(w)
    w.clock.advance(60 * MINUTE_MS)
    return w.letters.splice(0).map(({ subject }) => subject)
  }
  const seenIn = (language: 'pt-BR' | 'en') => listNotices(w.ctx, reader, { limit: 1, language })
  await seenIn('en')
  expect(await subjects()).toEqual(['guiche: Payments under review'])
  await seenIn('pt-BR')
  expect(await subjects()).toEqual(['guiche: Pagamentos em análise'])
  await writeChoices(w.ctx, reader.userId, { off: [], language: 'pt-BR', emailLanguage: 'en' })
  await seenIn('pt-BR')
  expect(await subjects()).toEqual(['guiche: Payments under review'])
})

test('what was told while a kind was off is not sent when it is on again', async () => {
  const w = await begin()
  const account = await w.account()
  const userId = await userOf(w, account)
  const choose = (off: NoticeKind[]) =>
    writeChoices(w.ctx, userId, { off, language: 'pt-BR', emailLanguage: 'dashboard' })
  await underpaid(w, account)
  await untilSent(w)
  w.clock.advance(60 * MINUTE_MS)
  await choose(['money_held'])
  for (let count = 0; count < 3; count++) await underpaid(w, account)
  await untilSent(w)
  await choose([])
  await underpaid(w, account)
  await untilSent(w)
  expect(w.letters.map(({ subject }) => subject)).toEqual(Array(2).fill('guiche: Pagamentos em análise'))
})

test('the number of a notice is never given again, although an erased account takes its notices along', async () => {
  const w = await begin()
  const [account, other] = [await w.account(), await w.account()]
  await underpaid(w, other)
  await follow(w)
  const session = await w.session(account)
  await session.ask('POST', '/dashboard/api/keys', { name: 'Caixa', scopes: ['deposits:read'] })
  await follow(w)
  expect(await bell(w, account)).toHaveLength(1)
  await query(w.pool, `update accounts set suspended_at = $1, suspended_reason = 'closed' where id = $2`, [
    w.clock.now(),
    account.accountId,
  ])
  w.clock.advance(2 * MINUTE_MS)
  expect(await eraseAccount(w.ctx, OPERATOR, { accountId: account.accountId }, 'she asked')).toHaveProperty('sessions')
  await untilSent(w)
  w.clock.advance(60 * MINUTE_MS)
  await underpaid(w, other)
  await untilSent(w)
  expect(w.letters.map(({ to }) => to)).toEqual([other.email, other.email])
  expect(await query(w.pool, 'select number from notices where account_id is not null order by number')).toEqual([
    { number: 1 },
    { number: 4 },
  ])
})

test('the bell of an account with few notices does not read through those of the others', async () => {
  const w = await begin({ isDirect: true })
  const account = await w.account()
  await underpaid(w, account)
  await follow(w)
  await query(
    w.pool,
    `insert into notices (number, account_id, kind, subject, data, what, happened_at, told_at)
     select 1000 + n, $1, 'money_held', n::text, '{}', 'news', $2, $2 from generate_series(1, 20000) n`,
    [(await w.account()).accountId, w.clock.now()],
  )
  await query(w.pool, 'analyze notices')
  const statements = await recordStatements(w.pool, () => bell(w, account))
  const reading = statements.filter(({ text }) => text.includes('from notices'))
  expect(reading).toHaveLength(2)
  for (const { text, values } of reading) {
    const plan = await query<{ 'QUERY PLAN': string }>(w.pool, `explain (analyze) ${text}`, values)
    expect(plan.map((line) => line['QUERY PLAN']).join('\n')).not.toMatch(/Removed by Filter: \d\d|Seq Scan on notices/)
  }
})

test('a trouble that is over when its e-mail is sent is not called open in it', async () => {
  const w = await begin()
  await underpaid(w, await w.account())
  await follow(w)
  await resolveNewest(w)
  await untilSent(w)
  expect(w.letters[0]!.text).toContain('Chegaram R$ 90,00')
  expect(w.letters[0]!.text).not.toContain('em aberto')
})

const SAMPLE = {
  receivedValue: 9000,
  refundValue: 9000,
  value: 9000,
  amountCents: 9000,
  reversedValue: 9000,
  chargedValue: 5000,
  owedValue: 4000,
  owedCents: 4000,
  nature: 'fraud',
  email: 'ana@loja.example',
  externalId: 'pedido-7',
  paymentLinkId: 'k3v9',
  name: 'Loja',
  reference: 'E7',
  reason: 'conta encerrada',
  prefix: 'gk-a1',
  network: '203.0.113.0/24',
  provider: 'banco',
  day: '2026-03-02',
  count: 1,
  lastAt: '2026-03-02T12:00:00+00:00',
  hours: 36,
  exceptionId: 'x',
  deadlineAt: '2026-03-09T12:00:00.000Z',
}

test('each notice reads as a sentence in both languages, without a code, a raw date or a gap', () => {
  for (const language of NOTICE_LANGUAGES)
    for (const kind of NOTICE_KIND_NAMES)
      for (const what of isTrouble(kind) ? (['began', 'ended'] as const) : (['news'] as const)) {
        const said = noticeText({ kind, what, data: SAMPLE }, language)
        expect(said, `${kind} ${what}`).toMatch(/^[A-Z].*\.$/)
        expect(said, `${kind} ${what}`).not.toMatch(
          /undefined|null|NaN|Invalid|[a-z]_[a-z]|\d{4}-\d\d-\d\d| {2}| 1 (places|pontos)/,
        )
      }
})

// ---- Steps ----

async function resolveNewest(w: World): Promise<void> {
  const { exceptions } = await listExceptions(w.ctx, { state: 'open', limit: 1 })
  await resolveException(w.ctx, OPERATOR, exceptions[0]!.id, { how: 'write_off' }, 'the payer does not answer')
}

async function addWebhook(w: World, account: TestAccount): Promise<void> {
  const session = await w.session(account)
  await session.ask('POST', '/dashboard/api/webhooks', { name: 'Loja', url: 'https://loja.example/hook' })
}
