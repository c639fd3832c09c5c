import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { makeSealer } from '../src/base/sealer.ts'
import { query, transact } from '../src/db/tx.ts'
import { audit } from '../src/domain/audit/audit.ts'
import type { Difference } from '../src/domain/audit/books.ts'
import type { Context } from '../src/domain/context.ts'
import { beginSeals, sealAsFound } from '../src/domain/core/seal-as-found.ts'
import { markCanceled } from '../src/domain/deposits/charge-states.ts'
import { openDeposit } from '../src/domain/deposits/open-deposit.ts'
import { resumeAccount, suspendAccount } from '../src/domain/accounts/accounts.ts'
import { makeReason } from '../src/domain/ports/delivery-reasons.ts'
import { createWebhook, disableWebhook, updateWebhook } from '../src/domain/webhooks/webhooks.ts'
import { settle } from '../src/domain/deposits/settle.ts'
import { corrupt } from './corrupt.ts'
import { CONSOLE, makeOperator } from './operators-client.ts'
import { bearer } from './requests.ts'
import { world, type TestAccount, type World } from './world.ts'

const FIELDS = {
  name: 'shop',
  url: 'https://shop.example/',
  authorization: null,
  eventKinds: ['DEPOSIT_ASSET_SUCCESS'],
}

function addWebhook({ ctx }: World, { accountId }: TestAccount, url = FIELDS.url) {
  return createWebhook(ctx, accountId, { ...FIELDS, url, eventKinds: ['DEPOSIT_ASSET_SUCCESS'] })
}

async function named(w: { ctx: Context } | Context): Promise<string[]> {
  const { differences } = await audit('ctx' in w ? w.ctx : w)
  return differences.map(({ check, subject }: Difference) => `${check}: ${subject}`)
}

// ---- Rows that people change ----

test('what the service changes fits its newest line; what somebody else changes, inserts or deletes is named', async () => {
  const w = await world()
  const account = await w.account()
  await makeOperator(w)
  const { webhook } = await addWebhook(w, account)
  await updateWebhook(w.ctx, account.accountId, webhook.webhookId, { name: 'other' })
  await suspendAccount(w.ctx, CONSOLE, account.accountId, 'asked for it')
  await resumeAccount(w.ctx, CONSOLE, account.accountId, 'asked for it')
  expect(await named(w)).toEqual([])

  // As it was before the service changed it.
  await corrupt(w, `update webhooks set name = 'shop'`)
  expect(await named(w)).toEqual([expect.stringMatching(/^row: webhook /)])
  await corrupt(w, `update webhooks set name = 'other'`)
  expect(await named(w)).toEqual([])

  await corrupt(w, `update operators set id = gen_random_uuid()`)
  const found = (await audit(w.ctx)).differences
  const texts = [
    { check: 'row', text: expect.stringMatching(/^is gone, and line \d+ of the audit log tells of it$/) },
    { check: 'row', text: 'is there, and no line of the audit log tells of it' },
  ]
  expect(found).toHaveLength(2)
  expect(found).toEqual(expect.arrayContaining(texts.map((one) => expect.objectContaining(one))))
})

test('an old line that is written again brings back no old state, and a line that is altered is named', async () => {
  const w = await world()
  const account = await w.account()
  const { webhook } = await addWebhook(w, account)
  await updateWebhook(w.ctx, account.accountId, webhook.webhookId, { name: 'other' })
  const columns = 'at, actor_kind, actor, key_id, action, subject, account_id, reason, details, rows, seal'
  const again = `insert into audit_log (${columns}) select ${columns} from audit_log where action = 'webhook.created'`
  await corrupt(w, `update webhooks set name = 'shop'; ${again}`)
  // Past the triggers it has no position either.
  expect(await named(w)).toEqual([expect.stringMatching(/^numbered: /), expect.stringMatching(/^line_seal: line /)])
  await corrupt(w, `update audit_log set actor = 'somebody' where action = 'key.created'`)
  expect((await named(w)).map((one) => one.split(' ')[0])).toEqual(['numbered:', 'line_seal:', 'line_seal:'])
})

// ---- Events and outcomes ----

test('an event or an outcome that guiche did not write so is named', async () => {
  const w = await world()
  const { payment, account } = await w.paidCharge()
  const { webhook } = await addWebhook(w, account)
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [payment]))
  await transact(w.pool, (tx) => disableWebhook(tx, w.clock.now(), webhook.webhookId, makeReason('deleted', 'x')))
  await corrupt(
    w,
    `update events set created_at = created_at + interval '1 ms'; update delivery_outcomes set attempts = 9`,
  )
  const checks = (await named(w)).map((one) => one.split(':')[0])
  expect(checks).toEqual(expect.arrayContaining(['event_seal', 'delivery_seal', 'row']))
})

test('each delivery that waits has an outcome when its webhook is disabled, however many there are', async () => {
  const w = await world()
  const { webhook } = await addWebhook(w, await w.account())
  await w.pool.query(
    'insert into deliveries (event_id, webhook_id, due_at) select gen_random_uuid(), $1, $2 from generate_series(1, 5001)',
    [webhook.webhookId, w.clock.now()],
  )
  await transact(w.pool, (tx) => disableWebhook(tx, w.clock.now(), webhook.webhookId, makeReason('deleted', 'x')))
  expect([await w.count('deliveries'), await w.count('delivery_outcomes', 'seal is not null')]).toEqual([0, 5001])
})

// ---- Codes to pay ----

test('a code that somebody put into a charge is shown to nobody, and a replay asks the provider for the right one', async () => {
  const w = await world()
  const account = await w.account()
  const request = { valueCents: 50_00, externalId: null, description: null, expiresInSeconds: null }
  const { charge } = await openDeposit(w.ctx, account.caller, request, 'key-1')
  const other = await w.deposit(account)
  await corrupt(w, `update charges set emv = 'theirs' where id = '${charge.id}'`)

  const { paymentLinkId } = charge
  const get = (url: string) => w.app.inject({ url, headers: bearer(account.key) })
  const publicly = [`/payment-link/${paymentLinkId}`, `/qr/${paymentLinkId}.svg`, `/qr/${paymentLinkId}.png`]
  for (const url of [...publicly, `/api/deposit/${paymentLinkId}`, `/api/deposits/${paymentLinkId}`]) {
    const { statusCode, body } = await get(url)
    expect([url, statusCode, body.includes('theirs')]).toEqual([url, 503, false])
  }
  const { deposits } = (await get('/api/deposits')).json<{ deposits: { emv: string }[] }>()
  expect(deposits.map(({ emv }) => emv)).toEqual([other.emv, ''])
  expect((await openDeposit(w.ctx, account.caller, request, 'key-1')).charge.emv).toBe(charge.emv)
  expect(w.logged.map(({ text }) => text)).toContain(
    'the code of a charge was altered in the database, and is not shown',
  )
  expect(await named(w)).toEqual(expect.arrayContaining([`code_seal: charge ${charge.id}`]))
})

test('a charge that had an idempotency key is named without it, until keys are deleted', async () => {
  const w = await world()
  const account = await w.account()
  const request = { valueCents: 50_00, externalId: null, description: null, expiresInSeconds: 86_400 }
  const { charge } = await openDeposit(w.ctx, account.caller, request, 'key-1')
  await corrupt(w, 'delete from idempotency_keys')
  expect(await named(w)).toEqual([`code_seal: charge ${charge.id}`])
  w.clock.advance(24 * 3_600_000)
  expect(await named(w)).toEqual([])
})

test('a charge that can still be paid, and is called ended, is named', async () => {
  const w = await world()
  const [charge, canceled] = [await w.deposit(await w.account()), await w.deposit(await w.account())]
  await markCanceled(w.ctx, canceled.id)
  const sealOf = `(select end_seal from charges where id = '${canceled.id}')`
  await corrupt(
    w,
    `update charges set status = 'CANCELED', closed_at = created_at, end_seal = ${sealOf} where id = '${charge.id}'`,
  )
  expect(await named(w)).toContain(`end_seal: charge ${charge.id}`)
})

// ---- Keys, and rows of before there were seals ----

test('a key that was replaced still proves what it sealed; with a key of nobody the audit asks for the right one', async () => {
  const old = makeSealer(() => ['old'])
  const both = makeSealer(() => ['new', 'old'])
  expect([both.fits(old.seal('text'), 'text'), both.fits(old.seal('text'), 'other')]).toEqual([true, false])
  expect(old.fits(both.seal('text'), 'text')).toBe(false)

  const w = await world()
  await w.account()
  const { differences } = await audit(await withKey(w, 'lost'))
  expect(differences).toEqual([expect.objectContaining({ check: 'key', text: expect.stringContaining('SECRET_KEY') })])
})

test('a lost key is made good by an operator, and what is altered after that is named', async () => {
  const w = await world()
  const { account } = await released(w)
  const ctx = await withKey(w, 'another')
  await sealAsFound(ctx, CONSOLE, 'the key was lost')
  expect(await named(ctx)).toEqual([])
  await corrupt(w, `update accounts set name = 'Eve' where id = '${account.accountId}'`)
  expect(await named(ctx)).toEqual([expect.stringMatching(/^row: account /)])
})

/** Another process, which seals with this key alone. Ids of charges stay as they are. */
async function withKey(w: World, key: string): Promise<Context> {
  const sealer = makeSealer(() => [key])
  const { ctx } = await w.anotherProcess({ pool: { sealer } })
  return { ...ctx, settings: { ...ctx.settings, sealer } }
}

/** Deposits that are paid, open and ended, and a webhook that got an event. */
async function released(w: World) {
  const { payment, account } = await w.paidCharge()
  const { webhook } = await addWebhook(w, account)
  await transact(w.pool, (tx) => settle(tx, w.clock.now(), [payment]))
  await updateWebhook(w.ctx, account.accountId, webhook.webhookId, { enabled: false })
  await markCanceled(w.ctx, (await w.deposit(account)).id)
  return { account, open: await w.deposit(account) }
}

const UNSEALED = `
  update audit_log set seal = null, rows = null; update events set seal = null; update delivery_outcomes set seal = null;
  update charges set code_seal = null, end_seal = null`

test('rows of the release before are sealed once, when no process of it is left, and each is named from then on', async () => {
  const w = await world()
  const { account, open } = await released(w)
  await corrupt(w, UNSEALED)
  const older = `insert into processes (instance, role, host, version, started_at, leased_until)
    values (7, 'all', 'old', '1.0.0-rc.1', now(), now() + interval '1 hour')`
  await query(w.pool, older)
  await beginSeals(w.ctx)
  expect(await w.count('seal_marks')).toBe(0)
  // Meanwhile their codes are shown, and the audit says what it cannot tell.
  const page = () => w.app.inject({ url: `/qr/${open.paymentLinkId}.svg` })
  expect((await page()).statusCode).toBe(200)
  const during = await audit(w.ctx)
  expect([during.differences, during.notCompared]).toEqual([[], [expect.objectContaining({ what: 'seals' })]])

  await query(w.pool, 'delete from processes where instance = 7')
  await beginSeals(w.ctx)
  await beginSeals(w.ctx)
  expect([await w.count('seal_marks'), await w.count('audit_log', `action = 'history.sealed'`)]).toEqual([1, 1])
  expect([await named(w), (await page()).statusCode]).toEqual([[], 200])
  await suspendAccount(w.ctx, CONSOLE, account.accountId, 'closed')
  expect(await named(w)).toEqual([])

  // A process of that release that is said to run again excuses nothing.
  await query(w.pool, older)
  const lies: [sql: string, found: RegExp][] = [
    [`update charges set code_seal = null where id = '${open.id}'`, /^code_seal: charge /],
    [`update events set body = body || ' '`, /^event_seal: events /],
    [`update audit_log set actor = 'x' where action = 'key.created'`, /^line_seal: line /],
    [`update api_keys set scopes = '{balance:read}'`, /^row: key /],
    [`delete from audit_log where action = 'history.sealed'`, /^line_seal: line /],
  ]
  for (const [sql, found] of lies) {
    await corrupt(w, sql)
    expect([sql, await named(w)]).toEqual([sql, expect.arrayContaining([expect.stringMatching(found)])])
  }
  expect((await page()).statusCode).toBe(503)
})

test('a mark that was removed is not made anew', async () => {
  const w = await world()
  await beginSeals(w.ctx)
  await released(w)
  const unsealed = 'update charges set code_seal = null'
  await corrupt(w, `delete from audit_log where action = 'history.sealed'; delete from seal_marks; ${unsealed}`)
  await expect(beginSeals(w.ctx)).rejects.toThrow('no rows are sealed as found')
  expect(await named(w)).toEqual(['key: the audit log'])
  expect(await w.count('charges', 'code_seal is null')).toBe(await w.count('charges'))
})

test('an event that is added among those that were found without seals is named', async () => {
  const w = await world()
  const { account } = await released(w)
  await corrupt(w, UNSEALED)
  await beginSeals(w.ctx)
  await corrupt(
    w,
    `insert into events (id, account_id, kind, subject_id, body, created_at)
     select '${randomUUID()}', '${account.accountId}', 'WEBHOOK_TEST', gen_random_uuid(), body, created_at from events limit 1`,
  )
  expect(await named(w)).toEqual([expect.stringMatching(/^numbered: /), expect.stringMatching(/^event_seal: event/)])
})
