import { expect, test } from 'vitest'
import { recordBackup } from '../src/domain/core/backups.ts'
import { query } from '../src/db/tx.ts'
import { listNotices } from '../src/domain/notices/list-notices.ts'
import { payPayout, requestPayout } from '../src/domain/payouts/payouts.ts'
import { begin, bell, follow, MINUTE_MS, untilSent } from './notice-steps.ts'
import { makeOperator } from './operators-client.ts'
import { completedCharge, hearOf, OPERATOR } from './refund-steps.ts'
import type { World } from './world.ts'

// Troubles that operators are told of because of how things are, and not because of what happened.

const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const UP = { name: 'banco', breaker: 'closed', callsPerSecond: 0, hasAnswered: true, certificateExpiresAt: null }

test('a provider that is down is not called up while no process knows that it answers', async () => {
  const w = await begin()
  await say(w, { ...UP, breaker: 'open' })
  expect(await desk(w)).toEqual([
    'provider_down began: O provedor banco não responde. As chamadas a ele estão suspensas.',
  ])
  await silence(w)
  expect(await desk(w)).toHaveLength(1)
  await say(w, { ...UP, hasAnswered: false })
  expect(await desk(w)).toHaveLength(1)
  await say(w, UP)
  expect(await desk(w)).toEqual([
    'provider_down ended: O provedor banco voltou a responder.',
    'provider_down ended: O provedor banco não responde. As chamadas a ele estão suspensas.',
  ])
})

test('a provider that no process has any more is no trouble', async () => {
  const w = await begin()
  await say(w, { ...UP, breaker: 'open' })
  expect(await desk(w)).toHaveLength(1)
  await say(w, { ...UP, name: 'outro' })
  expect(await desk(w)).toHaveLength(2)
})

test('a certificate that expires is one trouble, told again 14, 7 and 1 days before, and over when it is replaced', async () => {
  const w = await begin()
  await makeOperator(w)
  const expiresAt = new Date(w.clock.now().getTime() + 31 * DAY_MS)
  const told = async () => {
    await say(w, { ...UP, certificateExpiresAt: expiresAt.toISOString() })
    await untilSent(w)
    return [(await desk(w)).length, w.letters.splice(0).length]
  }
  expect(await told()).toEqual([0, 0])
  for (const days of [2, 15, 8, 5.5].map((pass, index) => [pass, index] as const)) {
    w.clock.advance(days[0] * DAY_MS)
    expect([days[1], await told(), await told()]).toEqual([days[1], [1, 1], [1, 0]])
  }
  expect(await desk(w)).toEqual([
    'certificate_ends began: O certificado pelo qual o provedor banco reconhece o guiche vence em 2 de abr. de 2026. ' +
      'Depois disso nenhuma chamada a ele funciona. Peça um novo ao banco.',
  ])
  await silence(w)
  expect(await desk(w)).toHaveLength(1)
  await say(w, { ...UP, certificateExpiresAt: new Date(expiresAt.getTime() + 365 * DAY_MS).toISOString() })
  expect((await desk(w))[0]).toBe(
    'certificate_ends ended: O certificado do provedor banco que vence em 2 de abr. de 2026 foi substituído.',
  )
})

test('a backup that is too old is told once, and over when a new one is recorded', async () => {
  const w = await begin()
  const backedUp = () => recordBackup(w.databaseUrl, { endedAt: w.clock.now(), place: 's3', bytes: null })
  w.clock.advance(100 * DAY_MS)
  expect(await desk(w)).toEqual([])
  await backedUp()
  w.clock.advance(35 * HOUR_MS)
  expect(await desk(w)).toEqual([])
  for (let hour = 0; hour < 5; hour++) {
    w.clock.advance(HOUR_MS)
    await follow(w)
  }
  expect(await desk(w)).toEqual([
    'backup_old began: O backup mais recente é de 10/06/2026, 09:01. Espera-se um a cada 36 horas.',
  ])
  await backedUp()
  expect((await desk(w))[0]).toBe('backup_old ended: Um novo backup foi registrado.')
})

test('where a backup is expected, it is missed although there never was one', async () => {
  const at = new Date(Date.now() + 25 * HOUR_MS)
  const w = await begin({ at, settings: { backups: { maxHours: 24, isExpected: true } } })
  expect(await desk(w)).toEqual([
    'backup_old began: Nenhum backup foi registrado até agora. Espera-se um a cada 24 horas.',
  ])
})

// ---- Steps ----

async function say(w: World, provider: object): Promise<void> {
  await silence(w)
  await query(
    w.pool,
    `insert into processes (instance, role, host, version, started_at, leased_until, status, seals)
     values (1, 'all', 'here', '1', $1, $1::timestamptz + interval '1 year', $2, true)`,
    [w.clock.now(), JSON.stringify({ providers: [provider] })],
  )
}

async function silence(w: World): Promise<void> {
  await query(w.pool, 'delete from processes where instance = 1')
}

/** What the operators read, a minute later, newest first. */
test('a reversal and the debt that it makes are told to the account holder and to operators, until the debt is paid', async () => {
  const w = await begin()
  const { account, charge, payment } = await completedCharge(w)
  const wanted = { accountId: account.accountId, valueCents: 40_00, note: null, idempotencyKey: null }
  const { payout } = await requestPayout(w.ctx, OPERATOR, wanted)
  await payPayout(w.ctx, OPERATOR, payout.id, { reference: 'E1' })
  await w.sandbox.reverse({ endToEndId: payment.endToEndId })
  w.clock.advance(200)
  await hearOf(w, payment.endToEndId)
  const deposit = charge.paymentLinkId.slice(-8)
  expect((await desk(w)).toSorted()).toEqual([
    `account_owes began: A conta ${account.email} deve R$ 40,50, porque o banco devolveu mais do que havia no saldo.`,
    `reversal news: O banco devolveu R$ 50,00 do depósito ${deposit} sem ninguém pedir: o pagador relatou uma fraude.`,
  ])
  const told = (await bell(w, account)).filter(({ kind }) => kind !== 'payout_paid')
  expect(told.map(({ text }) => text).toSorted()).toEqual([
    `O banco devolveu R$ 50,00 do depósito ${deposit} ao pagador, sem você pedir: o pagador relatou uma fraude. O seu saldo pagou R$ 9,50, e você deve R$ 40,50.`,
    'O seu saldo não bastou para um depósito que o banco devolveu. Você deve R$ 40,50, e os próximos valores que entrarem pagam isso.',
  ])
  await completedCharge(w, { account })
  const [over] = await desk(w)
  expect(over).toBe(`account_owes ended: A conta ${account.email} não deve mais nada.`)
})

async function desk(w: World): Promise<string[]> {
  w.clock.advance(MINUTE_MS)
  await follow(w)
  const reader = { userId: '00000000-0000-0000-0000-000000000000', accountId: null, may: () => true }
  const { notices } = await listNotices(w.ctx, reader, { limit: 20, language: 'pt-BR' })
  return notices.map(({ kind, what, text }) => `${kind} ${what}: ${text}`)
}
