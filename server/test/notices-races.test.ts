import { expect, test } from 'vitest'
import { query } from '../src/db/tx.ts'
import { followHistory } from '../src/domain/notices/follow-history.ts'
import { makeEmails, sendEmails } from '../src/domain/notices/send-emails.ts'
import { watchStates } from '../src/domain/notices/watch-states.ts'
import { begin, follow, MINUTE_MS, number, underpaid } from './notice-steps.ts'
import { until, type World } from './world.ts'

// Two processes tell people of the same things. Each race is held open by a lock that the test has.

const GATHERED_MS = 11_000
const LEASE_MS = 10 * MINUTE_MS

test('while one process follows the history, another steps back, and each event is told once', async () => {
  const w = await begin()
  const account = await w.account()
  for (let count = 0; count < 3; count++) await underpaid(w, account)
  await number(w)
  const other = await w.anotherProcess()
  // The first has written its notices, and cannot move its position.
  const release = await hold(w, `select from followers where name = 'notices' for update`)
  const first = followHistory(w.ctx)
  await w.lockWait()
  const second = await followHistory(other.ctx)
  await release()
  expect([await first, second]).toEqual(['done', 'busy'])
  expect(await followHistory(other.ctx)).toBe('idle')
  expect(await w.count('notices', `kind = 'money_held'`)).toBe(3)
})

test('while one process looks at what is wrong, another steps back, and each trouble is told once', async () => {
  const w = await begin()
  await underpaid(w, await w.account())
  w.clock.advance(MINUTE_MS)
  const other = await w.anotherProcess()
  const release = await hold(w, `select from followers where name = 'states' for update`)
  const first = watchStates(w.ctx)
  await w.lockWait()
  const second = await watchStates(other.ctx)
  await release()
  expect([await first, second]).toEqual(['done', 'busy'])
  expect(await watchStates(other.ctx)).toBe('idle')
  expect(await w.count('notices', `kind = 'exception_open'`)).toBe(1)
})

test('two processes that make e-mails at once make one', async () => {
  const w = await beginWithNotice()
  const other = await w.anotherProcess()
  const release = await hold(w, 'lock table notice_emails in share mode')
  const first = makeEmails(w.ctx)
  await w.lockWait()
  const second = await makeEmails(other.ctx)
  await release()
  expect([await first, second]).toEqual([1, 0])
  expect(await w.count('notice_emails')).toBe(1)
})

test('a notice that is written while an e-mail is made is in the next one', async () => {
  const w = await beginWithNotice()
  const other = await w.anotherProcess()
  await underpaid(w, w.holder)
  await number(w)
  const release = await hold(w, 'lock table notice_emails in share mode')
  const making = makeEmails(w.ctx)
  await w.lockWait()
  // It waits for the person whose e-mail is being made.
  const telling = followHistory(other.ctx)
  await until('both wait', async () => {
    const [row] = await query<{ count: number }>(
      w.pool,
      `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return row!.count >= 2
  })
  await release()
  expect([await making, await telling]).toEqual([1, 'done'])
  w.clock.advance(60 * MINUTE_MS)
  expect(await makeEmails(w.ctx)).toBe(1)
  expect(await query(w.pool, 'select after_number, last_number from notice_emails order by after_number')).toEqual([
    { after_number: 0, last_number: 1 },
    { after_number: 1, last_number: 2 },
  ])
})

test('an e-mail that a killed process had taken is sent by another one, after the lease and once', async () => {
  const w = await beginWithNotice()
  await makeEmails(w.ctx)
  const killed = await w.anotherProcess()
  let answerLate!: (error: Error) => void
  killed.ctx.mailer.deliver = () => new Promise((_resolve, reject) => (answerLate = reject))
  const sending = sendEmails(killed.ctx)
  await until('it is taken', async () => (await w.count('notice_emails', 'attempts = 1')) === 1)
  expect(await sendEmails(w.ctx)).toBe(0)
  w.clock.advance(LEASE_MS + 1)
  expect(await sendEmails(w.ctx)).toBe(1)
  // It was not killed, but slow: what it says now is not believed.
  answerLate(new Error('the connection was lost'))
  await sending
  w.clock.advance(LEASE_MS + 1)
  expect(await sendEmails(w.ctx)).toBe(0)
  expect(w.letters).toHaveLength(1)
  expect(await w.count('notice_emails', 'sent_at is not null and failure is null')).toBe(1)
})

test('an e-mail whose process was killed before it recorded the sending is sent again with the same id', async () => {
  const w = await beginWithNotice()
  await makeEmails(w.ctx)
  const killed = await w.anotherProcess()
  const ids: string[] = []
  killed.ctx.mailer.deliver = async ({ id }) => {
    ids.push(id)
    await killed.die()
  }
  await sendEmails(killed.ctx).catch(() => {})
  w.ctx.mailer.deliver = async ({ id }) => void ids.push(id)
  w.clock.advance(LEASE_MS + 1)
  await sendEmails(w.ctx)
  expect(ids).toEqual([ids[0], ids[0]])
  w.clock.advance(LEASE_MS + 1)
  expect(await sendEmails(w.ctx)).toBe(0)
})

// ---- Steps ----

/** A notice whose e-mail is due. */
async function beginWithNotice() {
  const w = await begin()
  const holder = await w.account()
  await underpaid(w, holder)
  await follow(w)
  w.clock.advance(GATHERED_MS)
  return Object.assign(w, { holder })
}

/** Takes a lock in a transaction of its own. Returns what releases it. */
async function hold(w: World, sql: string): Promise<() => Promise<void>> {
  const client = await w.pool.connect()
  await client.query('begin')
  await client.query(sql)
  return async () => {
    await client.query('commit')
    client.release()
  }
}
