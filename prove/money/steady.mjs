// Deposits are requested, paid, queried and canceled without a pause, at several processes of one service. In the end
// every request is repeated, and the books are judged.

import { setTimeout as sleep } from 'node:timers/promises'
import { makeApi } from './api.mjs'
import { open, payLate, runScenario } from './scenarios.mjs'
import { collect, missing, orNote, readBalances } from './setup.mjs'
import { CLAIMS as ALL_CLAIMS, judge } from './verdict.mjs'

const AT_ONCE = 16
// At this rate two processors have time for the rest.
const PER_SECOND = 8
const ANSWERED_WITHIN_MS = 30_000
const NAMED_MAX = 5
// The bank stops retrying a notification after half a minute, and then only a sweep finds the payment. The lease of a
// worker that was killed in a sweep blocks the next one for two minutes (docs/decisions/0019-reconciliation.md).
const BOOKED_WITHIN_MS = 180_000

const KEPT = ['lost', 'invented', 'credited', 'sum', 'balances', 'one-code', 'unpayable', 'in-time', 'told', 'answers']

/** What must hold in the end. LOSSES and DOUBLES are the claims whose breaches lose or double something. */
export const CLAIMS = {
  acknowledged: 'every deposit that was answered with 201 is in the books, and its key gives the same charge again',
  ...Object.fromEntries([...KEPT, 'fresh', 'process', 'audit'].map((claim) => [claim, ALL_CLAIMS[claim]])),
  rest: 'every payment was booked and every webhook delivered',
}
const LOSSES = ['acknowledged', 'lost', 'told']
const DOUBLES = ['invented', 'credited', 'one-code']

/**
 * Sends each request to the next of the processes. `w` is the world of setup.mjs; its `service` is any of them.
 * `acknowledged(index, since)` waits until process `index` answers 201 to a deposit that was requested after `since`,
 * and returns when it did.
 */
export function startSteadyLoad(w, services) {
  const apis = services.map(({ url }) => makeApi({ url, note: w.note, counts: w.statuses }))
  const waiting = new Set()
  const over = new AbortController()
  let turn = 0
  let begun = 0

  w.api = async (account, method, path, options) => {
    const index = turn++ % apis.length
    const began = performance.now()
    const answer = await apis[index](account, method, path, options)
    if (method === 'POST' && path === '/api/deposit' && answer.status === 201) acknowledge(index, began)
    return answer
  }

  function acknowledge(index, began) {
    for (const waiter of waiting) {
      if (waiter.index !== index || waiter.since > began) continue
      waiting.delete(waiter)
      waiter.resolve(performance.now())
    }
  }

  async function request() {
    while (!over.signal.aborted) {
      const next = sleep((AT_ONCE / PER_SECOND) * 1000)
      await runScenario(w, `steady-${++begun}`)
      await next
    }
  }
  const requesting = Promise.all(Array.from({ length: AT_ONCE }, request))

  return {
    acknowledged: (index, since) => new Promise((resolve) => waiting.add({ index, since, resolve })),
    async stop() {
      over.abort()
      await requesting
      for (const scenario of w.paysLater.splice(0)) await payLate(w, scenario)
    },
  }
}

/** Repeats every request, waits for all work, stops the processes, and judges. The books (`w.books`) must be open. */
export async function judgeSteadyLoad(w, services) {
  await repeatAll(w)
  const isBooked = async () => (await missing(w)).length === 0
  await orNote(w, 'rest', 'some payments are not in the books', isBooked, BOOKED_WITHIN_MS)
  await orNote(w, 'rest', 'some webhooks are not delivered', async () => (await w.books.undelivered()) === 0)
  const balances = await readBalances(w)
  for (const service of services) {
    const code = await service.stop()
    if (code !== 0) w.note('process', `stopped when idle, it exited with ${code}`)
  }
  const facts = await collect(w, { missingBeforeSweep: 0, balances })
  const found = { ...judge(facts), acknowledged: findForgotten(w, facts) }
  return { facts, breaches: Object.fromEntries(Object.keys(CLAIMS).map((claim) => [claim, found[claim]])) }
}

/** Counts the breaches that are losses, and those that are doubles. */
export function countBreaches(breaches) {
  const count = (claims) => claims.reduce((sum, claim) => sum + (breaches[claim]?.length ?? 0), 0)
  return { lost: count(LOSSES), doubled: count(DOUBLES) }
}

/** Each key must give the charge that it gave before. A caller who never got an answer gets one now. */
async function repeatAll(w) {
  const left = [...w.scenarios.values()]
  const repeat = async () => {
    for (let scenario = left.pop(); scenario; scenario = left.pop())
      if (!(await open(w, scenario, ANSWERED_WITHIN_MS))) w.note('rest', `${scenario.key} was never answered`)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, repeat))
}

function findForgotten({ scenarios }, { books }) {
  const kept = new Set(books.charges.map(({ txid }) => txid))
  return [...scenarios.values()].flatMap(({ key, charge }) =>
    charge && !kept.has(charge.id) ? [`${key} was answered with ${charge.id}, which is not in the books`] : [],
  )
}

/** Returns one line for each claim, with the first of its breaches below it. */
export function describeClaims(claims, breaches) {
  return Object.entries(claims).flatMap(([claim, says]) => [
    `${breaches[claim].length === 0 ? 'held    ' : 'NOT HELD'} ${claim}: ${says}`,
    ...breaches[claim].slice(0, NAMED_MAX).map((text) => `           ${text}`),
    ...(breaches[claim].length > NAMED_MAX ? [`           and ${breaches[claim].length - NAMED_MAX} more`] : []),
  ])
}
