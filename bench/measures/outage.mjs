// Measure 19: a bank that is down, first with connections refused and then without answers. A deposit that is refused
// should cost less than a query, slow nobody down, and leave nothing behind.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { transact } from '../../server/dist/db/tx.js'
import { settle } from '../../server/dist/domain/deposits/settle.js'
import { makeAccounts, makeApiKey, makeCharges, makePayments, recordAtBank } from '../stage/books.mjs'
import { startProgram } from '../stage/children.mjs'
import { withCost } from '../stage/cost.mjs'
import { percentile } from './turns.mjs'

const HOLDERS = 5
const CHARGES_EACH = 50
// Of the time that the bank is down.
const BEFORE_SHARE = 1 / 6
const AFTER_SHARE = 1 / 2
const ALONE_SHARE = 1 / 12
const ALONE_PER_SECOND = 200
// A deposit that takes twice as long as before, and some milliseconds more, is not what callers are used to.
const SLOW_TIMES = 2
const SLOW_MS = 10
// The cool-down of the breaker, and as long for all who waited.
const MAX_AFTER_SECONDS = 10

export const outageMeasures = {
  19: async (bench) => {
    const parts = []
    for (const name of bench.options.quick ? ['refused'] : ['refused', 'hanging'])
      parts.push({ name, ...(await outage(bench, name)) })
    const { refusal, balance } = parts.toSorted((a, b) => b.refusal.p50Ms - a.refusal.p50Ms)[0]
    return {
      ours: refusal.p50Ms,
      reference: balance.p50Ms,
      ratio: balance.p50Ms / refusal.p50Ms,
      unit: 'ms',
      target: 'p50 and CPU of a query at most',
      met: parts.every(isCheap),
      details: { ours: refusal, parts },
      note: parts.map(describe).join('; '),
    }
  },
}

function isCheap({ alone, afterSeconds }) {
  const { create, balance, pending } = alone
  const dearest = (of) => Math.max(of(balance), of(pending))
  return (
    create.p50Ms <= dearest(({ p50Ms }) => p50Ms) &&
    cpuOf(create) <= dearest(cpuOf) &&
    afterSeconds <= MAX_AFTER_SECONDS
  )
}

function cpuOf({ cost }) {
  return (cost.cpuMicroseconds?.node ?? 0) + (cost.cpuMicroseconds?.postgres ?? 0)
}

function describe({ name, cost, afterSeconds, alone }) {
  const each = Object.entries(alone).map(([kind, part]) => `${kind} ${part.p50Ms.toFixed(1)} ms and ${cpuOf(part)} µs`)
  const sum = `${cost.walBytes} B of WAL, ${cost.logBytes} B of log and ${cost.rows.toFixed(2)} rows an attempt`
  return `${name}: ${sum}; alone ${each.join(', ')}; slow for ${afterSeconds} s afterwards`
}

async function outage(bench, name) {
  const { stage, options, show } = bench
  const program = await bench.once(loadOf)
  show(`${name}: before`)
  await program.ask('begin')
  await sleep(options.outageSeconds * BEFORE_SHARE * 1000)
  const before = await program.ask('answers')
  show(`${name}: the bank is down`)
  await stage.bank.ask('goDown', { hangs: name === 'hanging' })
  const { answers: during, cost } = await loadDuring(stage, program, options.outageSeconds)
  show(`${name}: the bank is back`)
  await stage.bank.ask('comeBack')
  await sleep(options.outageSeconds * AFTER_SHARE * 1000)
  await program.ask('end')
  const after = await program.ask('answers')
  const seconds = secondsOf(after)
  const slowMs = SLOW_TIMES * timesOf(before, 'create', 201).p50Ms + SLOW_MS
  return {
    refusal: timesOf(during, 'create', 503),
    balance: timesOf(during, 'balance', 200),
    cost,
    afterSeconds: 1 + seconds.findLastIndex(({ refused, p50Ms }) => refused > 0 || p50Ms > slowMs),
    alone: await measureAlone(bench, program, name),
    phases: { before: tableOf(before), during: tableOf(during), after: tableOf(after) },
    seconds: { during: secondsOf(during), after: seconds },
  }
}

/** Each kind of request by itself, once the service has noticed that the bank is down. */
async function measureAlone({ stage, options, show }, program, name) {
  const load = { perSecond: ALONE_PER_SECOND, seconds: options.outageSeconds * ALONE_SHARE }
  await stage.bank.ask('goDown', { hangs: name === 'hanging' })
  await program.ask('only', { ...load, kind: 'create' })
  const alone = {}
  for (const kind of ['create', 'balance', 'pending', 'completed']) {
    show(`${name}: ${kind} alone`)
    await program.ask('answers')
    alone[kind] = await withCost(stage, { node: stage.service.pid(), load: program.pid }, async () => {
      const requests = await program.ask('only', { ...load, kind })
      return { requests, p50Ms: percentile(timesIn(await program.ask('answers')), 0.5) }
    })
  }
  await stage.bank.ask('comeBack')
  return alone
}

/** Attempts to create, by the second in which they were answered. */
function secondsOf(answers) {
  const creates = answers.filter(({ kind }) => kind === 'create')
  const beganMs = Math.min(...creates.map(({ atMs }) => atMs))
  const seconds = []
  for (const answer of creates) (seconds[Math.floor((answer.atMs - beganMs) / 1000)] ??= []).push(answer)
  return Array.from(seconds, (some = []) => ({
    created: some.filter(({ status }) => status === 201).length,
    refused: some.filter(({ status }) => status !== 201).length,
    p50Ms: percentile(timesIn(some), 0.5) ?? 0,
  }))
}

/** What one attempt to create costs, queries and all else included. */
async function loadDuring(stage, program, seconds) {
  const [rows, log] = [await rowsWritten(stage), logBytes(stage)]
  const work = async () => {
    await sleep(seconds * 1000)
    const answers = await program.ask('answers')
    return { answers, requests: answers.filter(({ kind }) => kind === 'create').length }
  }
  const { answers, requests, cost } = await withCost(stage, { node: stage.service.pid(), load: program.pid }, work)
  return {
    answers,
    cost: {
      ...cost,
      logBytes: Math.round((logBytes(stage) - log) / requests),
      rows: ((await rowsWritten(stage)) - rows) / requests,
    },
  }
}

async function rowsWritten({ database }) {
  const [{ rows }] = await database.read(
    `select tup_inserted + tup_updated + tup_deleted as rows from pg_stat_database where datname = current_database()`,
  )
  return Number(rows)
}

function logBytes({ home }) {
  return statSync(join(home, 'service.log')).size
}

function timesOf(answers, kind, status) {
  const ms = timesIn(answers.filter((answer) => answer.kind === kind && answer.status === status))
  return { requests: ms.length, p50Ms: percentile(ms, 0.5) ?? 0, p99Ms: percentile(ms, 0.99) ?? 0 }
}

function timesIn(answers) {
  return answers.map(({ ms }) => ms)
}

/** By kind and status: how many, p50 and p99. */
function tableOf(answers) {
  const kinds = new Set(answers.map(({ kind, status }) => `${kind} ${status}`))
  return Object.fromEntries(
    Array.from(kinds).map((name) => {
      const [kind, status] = name.split(' ')
      return [name, timesOf(answers, kind, Number(status))]
    }),
  )
}

async function loadOf({ stage }) {
  const program = await startProgram('outage-load.mjs')
  const accounts = await makeAccounts(stage.pool, HOLDERS)
  const holders = []
  for (const account of accounts) {
    const charges = await makeCharges(stage.books, { count: 2 * CHARGES_EACH, accounts: [account] })
    const payments = makePayments(charges.slice(CHARGES_EACH))
    await transact(stage.pool, (tx) => settle(tx, new Date(), payments))
    await recordAtBank(stage.books, payments)
    const [pending, completed] = [charges.slice(0, CHARGES_EACH), charges.slice(CHARGES_EACH)].map((some) =>
      some.map(({ paymentLinkId }) => `/api/deposit/${paymentLinkId}`),
    )
    const headers = { authorization: `Bearer ${await makeApiKey(stage.pool, account)}` }
    holders.push({ headers, pending, completed })
  }
  await program.ask('open', { url: stage.service.url, headers: stage.headers, holders })
  return program
}
