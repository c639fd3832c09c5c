import { expect, test } from 'vitest'
import { transact } from '../src/db/tx.ts'
import type { Actor } from '../src/domain/core/audit-log.ts'
import { noteException } from '../src/domain/refunds/exception-notes.ts'
import { findException, findInQueue, listExceptions } from '../src/domain/refunds/exceptions.ts'
import { resolveException } from '../src/domain/refunds/resolve-exception.ts'
import { resolveExceptions, type Decided, type SharedDecision } from '../src/domain/refunds/resolve-many.ts'
import { ProviderError } from '../src/domain/ports/provider.ts'
import { corrupt } from './corrupt.ts'
import { ask, makeOperator } from './operators-client.ts'
import { changeProvider, holdings, OPERATOR, settleAll, strayPayment, untilWaiting } from './refund-steps.ts'
import { until, world, type TestAccount, type World } from './world.ts'

// How operators work through open exceptions: several at once, one after another, and with notes.

const BERTA: Actor = { kind: 'operator', name: 'berta@example.com' }
const WRITE_OFF: SharedDecision = { how: 'write_off', charge: 'keep' }

// ---- Several at once ----

test('several are decided alike, each to the account of its own charge, and a refusal of one keeps none back', async () => {
  const w = await world()
  const [ana, bia] = [await w.account(), await w.account()]
  await underpaid(w, ana)
  await underpaid(w, bia)
  await strayPayment(w, 7_00)
  const ids = await openIds(w)
  const decided = await resolveExceptions(w.ctx, OPERATOR, ids, { how: 'credit', charge: 'close' }, 'accepted')
  expect(inShort(decided)).toEqual(['refused charge_not_named', 'resolved', 'resolved'])
  expect(decided.map(({ id }) => id)).toEqual(ids)
  expect([await w.balanceCents(ana.accountId), await w.balanceCents(bia.accountId)]).toEqual([73_50, 73_50])
  expect(await holdings(w)).toMatchObject({ suspense: 7_00, balance: 147_00 })
  expect(await w.count('charges', `status = 'CANCELED'`)).toBe(2)
  expect(await w.count('audit_log', `action = 'exception.resolved' and reason = 'accepted'`)).toBe(2)
  expect(await w.differences()).toEqual([])
})

test('a repeated request decides nothing twice, and tells what became of each', async () => {
  const w = await world()
  await strayPayment(w, 7_00)
  await strayPayment(w, 8_00)
  const ids = await openIds(w)
  const refund: SharedDecision = { how: 'refund', charge: 'keep' }
  for (let times = 0; times < 2; times++)
    expect(inShort(await resolveExceptions(w.ctx, OPERATOR, ids, refund, 'theirs'))).toEqual(['resolving', 'resolving'])
  expect(await w.count('refunds')).toBe(2)
  expect((await w.sandbox.stats()).calls['PUT /pix/:e2eid/devolucao/:id']).toBe(2)
  // What somebody else asks for is no repetition.
  const others = await resolveExceptions(w.ctx, BERTA, ids, refund, 'theirs')
  expect(inShort(others)).toEqual(['refused exception_resolving', 'refused exception_resolving'])
  expect(inShort(await resolveExceptions(w.ctx, OPERATOR, ids, WRITE_OFF, 'theirs'))).toEqual(inShort(others))
  expect(await w.differences()).toEqual([])
})

test('a refund that the provider refuses at once is told with its reason, and its exception is open', async () => {
  const w = await world()
  await strayPayment(w, 7_00)
  const [id] = await openIds(w)
  changeProvider(w, { refund: () => Promise.reject(new ProviderError('refused', 'sandbox: refund: no')) })
  const [decided] = await resolveExceptions(w.ctx, OPERATOR, [id!], { how: 'refund', charge: 'keep' }, 'theirs')
  expect(decided).toMatchObject({ result: 'refused', code: 'provider_refused', error: 'sandbox: refund: no' })
  expect(await findException(w.ctx, id!)).toMatchObject({ state: 'open' })
})

// A lock on the rows holds both until all of their decisions wait, and lets them go together.
test('of two operators who decide the same ones at once, each exception is decided by one', async () => {
  const w = await world()
  const account = await w.account()
  for (let number = 0; number < 2; number++) await underpaid(w, account)
  const ids = await openIds(w)
  const other = await w.anotherProcess()
  const credit: SharedDecision = { how: 'credit', charge: 'keep' }
  let racing: Promise<Decided[][]> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select from exceptions for update')
    racing = Promise.all([
      resolveExceptions(w.ctx, OPERATOR, ids, WRITE_OFF, 'nobody asked'),
      resolveExceptions(other.ctx, BERTA, ids, credit, 'accepted'),
    ])
    await untilWaiting(w, 4)
  })
  const [written, credited] = await racing!
  for (const [index] of ids.entries())
    expect([written![index]!.result, credited![index]!.result].toSorted()).toEqual(['refused', 'resolved'])
  const both = [...written!, ...credited!].filter(({ result }) => result === 'refused')
  expect(new Set(both.map(({ code }) => code))).toEqual(new Set(['exception_resolved']))
  const won = credited!.filter(({ result }) => result === 'resolved').length
  expect(await w.balanceCents(account.accountId)).toBe(won * 73_50)
  expect(await w.differences()).toEqual([])
})

test('after a process died between two decisions, a repeated request decides the rest', async () => {
  const w = await world()
  await strayPayment(w, 7_00)
  await strayPayment(w, 8_00)
  const ids = await openIds(w)
  const doomed = await w.anotherProcess()
  await transact(w.pool, async (tx) => {
    await tx.run('select from exceptions where id = $1 for update', [ids[1]])
    const dying = resolveExceptions(doomed.ctx, OPERATOR, ids, WRITE_OFF, 'nobody asked').catch(() => {})
    await until('the first is decided', async () => (await findException(w.ctx, ids[0]!)).state === 'resolved')
    await w.lockWait()
    // Its connection is gone, as that of a killed process.
    await w.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    await dying
  })
  await doomed.die()
  expect(await findException(w.ctx, ids[1]!)).toMatchObject({ state: 'open' })
  const decided = await resolveExceptions(w.ctx, OPERATOR, ids, WRITE_OFF, 'nobody asked')
  expect(inShort(decided)).toEqual(['resolved', 'resolved'])
  expect(await holdings(w)).toEqual({ cash: 15_00, written_off: 15_00 })
  expect(await w.count('audit_log', `action = 'exception.resolved'`)).toBe(2)
})

test('a request for several names at most 50 ids, each once, and a way that needs no further data', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  await strayPayment(w, 7_00)
  const [id] = await openIds(w)
  const post = (body: object) => ask(w, key, 'POST', 'exceptions/resolve', body)
  const rule = 'ids must be 1 to 50 ids of exceptions, each once'
  for (const ids of [[], [id, id], Array.from({ length: 51 }, (_, index) => `${index}`), 'x', undefined])
    expect(await post({ ids, how: 'write_off', reason: 'x' })).toMatchObject({ status: 400, body: { error: rule } })
  for (const how of ['charge_account', 'keep', undefined])
    expect(await post({ ids: [id], how, reason: 'x' })).toMatchObject({ status: 400 })
  expect(await post({ ids: [id], how: 'match', charge: 'close', reason: 'x' })).toMatchObject({ status: 400 })
  expect(await post({ ids: [id], how: 'write_off', reason: ' ' })).toMatchObject({ status: 400 })
  expect(await w.count('exceptions', 'resolution is not null')).toBe(0)

  const { status, body } = await post({ ids: ['nonsense', id], how: 'write_off', reason: 'nobody asked' })
  expect([status, body.results]).toMatchObject([
    200,
    [
      { id: 'nonsense', result: 'refused', code: 'not_found', exception: null },
      { id, result: 'resolved', code: null, exception: { resolution: { by: 'operator ops@example.com' } } },
    ],
  ])
})

// ---- One after another ----

test('an exception tells its reference, what was expected, how it can be resolved, and which one is next', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const account = await w.account()
  await underpaid(w, account)
  for (const cents of [7_00, 8_00]) {
    w.clock.advance(1_000)
    await strayPayment(w, cents)
  }
  const [newest, second, oldest] = await openIds(w)
  const read = async (id: string) => (await ask(w, key, 'GET', `exceptions/${id}`)).body
  expect(await read(oldest!)).toMatchObject({
    exception: {
      value: 73_50,
      ways: ['credit', 'refund', 'write_off', 'match'],
      charge: { externalId: 'order-7', description: 'Two chairs', value: 75_00 },
    },
    queue: { position: 3, count: 3, nextId: newest },
  })
  expect(await read(second!)).toMatchObject({ queue: { position: 2, count: 3, nextId: oldest } })
  expect(await read(newest!)).toMatchObject({ queue: { position: 1, count: 3, nextId: second } })
  await resolveException(w.ctx, OPERATOR, newest!, { how: 'write_off' }, 'nobody asked')
  expect(await read(newest!)).toMatchObject({
    exception: { ways: [] },
    queue: { position: null, count: 2, nextId: second },
  })
  const last = await resolveException(w.ctx, OPERATOR, second!, { how: 'write_off' }, 'nobody asked')
  expect(await findInQueue(w.ctx, last)).toEqual({ position: null, count: 1, nextId: oldest })
  const only = await findException(w.ctx, oldest!)
  expect(await findInQueue(w.ctx, only)).toEqual({ position: 1, count: 1, nextId: null })
})

test('a match is not offered for a charge whose order another charge paid, and would be refused', async () => {
  const w = await world()
  const account = await w.account()
  const charge = await underpaid(w, account)
  const { id } = (await listExceptions(w.ctx, { limit: 1 })).exceptions[0]!
  // The held charge ends, and its order is paid by another one.
  await corrupt(
    w,
    `update charges set status = 'EXPIRED', closed_at = greatest(created_at, expires_at) - interval '1 second'
     where id = '${charge.id}'; delete from external_ids where charge_id = '${charge.id}'`,
  )
  const again = await w.deposit(account, { valueCents: 75_00, externalId: 'order-7' })
  const { pix } = await w.sandbox.pay({ emv: again.emv })
  await settlePix(w, again.id, pix[0]!)
  expect((await findException(w.ctx, id)).ways).toEqual(['credit', 'refund', 'write_off'])
  await expect(resolveException(w.ctx, OPERATOR, id, { how: 'match' }, 'x')).rejects.toMatchObject({
    code: 'order_paid',
  })
})

// ---- Notes ----

test('notes stand in their order, with who wrote them and when, and the audit log tells of each', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  await strayPayment(w, 7_00)
  const [id] = await openIds(w)
  const write = (text: string) => ask(w, key, 'POST', `exceptions/${id}/notes`, { text })
  expect(await write(' O pagador ligou. ')).toMatchObject({
    status: 201,
    body: { note: { number: 1, text: 'O pagador ligou.', by: 'operator ops@example.com' } },
  })
  w.clock.advance(1_000)
  await noteException(w.ctx, OPERATOR, id!, 'It was for order 1042.')
  expect((await ask(w, key, 'GET', `exceptions/${id}`)).body.notes).toEqual([
    { number: 1, text: 'O pagador ligou.', notedAt: '2026-03-02T12:00:00.000Z', by: 'operator ops@example.com' },
    { number: 2, text: 'It was for order 1042.', notedAt: '2026-03-02T12:00:01.000Z', by: 'console ana' },
  ])
  const { rows } = await w.pool.query(
    `select subject, details from audit_log where action = 'exception.noted' order by id`,
  )
  expect(rows).toEqual([1, 2].map((number) => ({ subject: `exception ${id}`, details: { number } })))
  for (const text of ['', ' ', 'x'.repeat(1_001), 'a\u0000b', 7]) expect((await write(text as string)).status).toBe(400)
  expect((await ask(w, key, 'POST', `exceptions/${'f'.repeat(32)}/notes`, { text: 'x' })).status).toBe(404)
  expect(await w.count('exception_notes')).toBe(2)
})

// Both have counted the notes when the lock lets them go, unless one waits for the other.
test('two notes that are written at once get a number each, and an exception has at most 100', async () => {
  const w = await world()
  await strayPayment(w, 7_00)
  const [id] = await openIds(w)
  let racing: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select from exceptions for update')
    racing = Promise.all([noteException(w.ctx, OPERATOR, id!, 'one'), noteException(w.ctx, BERTA, id!, 'two')])
    await untilWaiting(w, 2)
  })
  await racing
  await w.pool.query(
    `insert into exception_notes (id, exception_id, number, text, noted_at, noted_by_kind, noted_by)
     select gen_random_uuid(), $1, number, 'x', now(), 'console', 'ana' from generate_series(3, 100) number`,
    [id],
  )
  await expect(noteException(w.ctx, OPERATOR, id!, 'one more')).rejects.toMatchObject({
    code: 'note_limit',
    details: { maxNotes: 100 },
  })
  for (const sql of [`update exception_notes set text = 'x'`, 'delete from exception_notes'])
    await expect(w.pool.query(sql)).rejects.toThrow('append only')
})

test('the audit names a note that somebody changed, removed or wrote without the service', async () => {
  const w = await world()
  await strayPayment(w, 7_00)
  const [id] = await openIds(w)
  await noteException(w.ctx, OPERATOR, id!, 'the payer called')
  const named = async () => (await w.differences()).map(({ check, subject }) => `${check} ${subject.split(' ')[0]}`)
  expect(await named()).toEqual([])
  await corrupt(w, `update exception_notes set text = 'nobody called'`)
  expect(await named()).toEqual(['row note'])
  await corrupt(w, `update exception_notes set text = 'the payer called', id = gen_random_uuid()`)
  expect(await named()).toEqual(['row note', 'row note'])
})

// ---- Steps ----

async function underpaid(w: World, account: TestAccount) {
  const externalId = (await w.count('charges')) === 0 ? 'order-7' : null
  const charge = await w.deposit(account, { valueCents: 75_00, externalId, description: 'Two chairs' })
  const { pix } = await w.sandbox.pay({ txid: charge.id, amountCents: 73_50 })
  await settlePix(w, charge.id, pix[0]!)
  return charge
}

function settlePix(w: World, txid: string, pix: { endToEndId: string; amountCents: number; horario: string }) {
  const { endToEndId, amountCents, horario } = pix
  return settleAll(w, [{ provider: 'sandbox', endToEndId, txid, amountCents, occurredAt: new Date(horario) }])
}

/** Newest first. */
async function openIds(w: World): Promise<string[]> {
  return (await listExceptions(w.ctx, { state: 'open', limit: 50 })).exceptions.map(({ id }) => id)
}

function inShort(decided: Decided[]): string[] {
  return decided.map(({ result, code }) => (code === null ? result : `${result} ${code}`))
}
