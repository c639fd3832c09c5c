import { expect, test } from 'vitest'
import { verifyHistory, verifyReceipt } from '../../sdk/src/client.ts'
import { newUuid7 } from '../src/base/ids.ts'
import { query, transact } from '../src/db/tx.ts'
import { SYSTEM, writeAudit } from '../src/domain/core/audit-log.ts'
import { exportHistory } from '../src/domain/history/export-history.ts'
import { readHead } from '../src/domain/history/receipts.ts'
import { makeNumberingMemory, numberPending, OPERATORS } from '../src/domain/history/number-pending.ts'
import { WEBHOOK_TEST } from '../src/domain/webhooks/account-event-kinds.ts'
import { dataOf } from '../src/domain/webhooks/event-fields.ts'
import { eventBody, eventName, insertEvents, type NewEvent } from '../src/domain/webhooks/events.ts'
import { world, type TestAccount, type World } from './world.ts'

async function tell({ pool, clock, ctx }: World, { accountId }: TestAccount, count: number): Promise<NewEvent[]> {
  const at = clock.now()
  const events = Array.from({ length: count }, () => ({
    kind: 'WEBHOOK_TEST' as const,
    accountId,
    subjectId: newUuid7(at),
    createdAt: at,
    data: dataOf(WEBHOOK_TEST, null),
  }))
  await transact(pool, (tx) => insertEvents(tx, at, events))
  const memory = makeNumberingMemory()
  while ((await numberPending(ctx, memory)) !== 'idle');
  return events
}

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}

test('an export is proven offline by the key of the log, wherever the leaves of others lie', async () => {
  const w = await world()
  const [account, other, silent] = [await w.account(), await w.account(), await w.account()]
  for (const [mine, theirs] of [
    [1, 2],
    [300, 1],
    [2, 700],
    [1, 0],
  ]) {
    await tell(w, account, mine!)
    if (theirs) await tell(w, other, theirs)
  }
  const { keys } = await readHead(w.ctx, {})
  for (const [accountId, positions] of [
    [account.accountId, 304],
    [other.accountId, 703],
    [silent.accountId, 0],
  ] as const)
    expect(await verifyHistory(await textOf(exportHistory(w.ctx, accountId)), { keys })).toMatchObject({
      ok: true,
      accountId,
      positions,
      problems: [],
    })
})

test('the operators’ log is exported too, and stays proven after lines about sign-ins were erased', async () => {
  const w = await world()
  const account = await w.account()
  const write = (action: 'session.opened' | 'reconcile.started') =>
    transact(w.pool, (tx) => writeAudit(tx, w.clock.now(), SYSTEM, { action, subject: 'x' }))
  await write('session.opened')
  await write('reconcile.started')
  await tell(w, account, 1)
  await query(w.pool, `delete from audit_log where action = 'session.opened'`)
  const { keys } = await readHead(w.ctx, {})
  const text = await textOf(exportHistory(w.ctx, OPERATORS))
  expect(text).not.toContain('session.opened')
  expect(await verifyHistory(text, { keys })).toMatchObject({ ok: true, erased: 1 })
  expect(await w.differences()).toEqual([])
})

test('the receipt of an event proves its exact bytes', async () => {
  const w = await world()
  const [account, other] = [await w.account(), await w.account()]
  const events = await tell(w, account, 300)
  await tell(w, other, 5)
  const { keys } = await readHead(w.ctx, {})
  for (const event of [events[0]!, events[255]!, events[299]!]) {
    const url = `/api/events/${eventName(event)}/receipt`
    const answer = await w.app.inject({ url, headers: { authorization: `Bearer ${account.key}` } })
    expect(answer.statusCode).toBe(200)
    const body = eventBody(event)
    expect(verifyReceipt(answer.body, body, { keys })).toMatchObject({ ok: true })
    expect(verifyReceipt(answer.body, body.replace('Nothing', 'Something'), { keys })).toMatchObject({
      ok: false,
    })
  }
  const url = `/api/events/${eventName(events[0]!)}/receipt`
  const foreign = await w.app.inject({ url, headers: { authorization: `Bearer ${other.key}` } })
  expect(foreign.statusCode).toBe(404)
})
