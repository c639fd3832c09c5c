// What people wait for when they look something up: searches, lists, the statement and the overview, in an account with
// a few deposits and again with very many. See README.md.
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureBuilt, root } from '../scripts/bootstrap.mjs'
import { withService } from './own-service.mjs'
import { percentile } from './turns.mjs'

const EMAIL = 'ana@loja.example'
const OPERATOR = 'op@guiche.example'
const FEW = 10_000
// The dashboard's own goal.
const GOAL_MS = 150

const { values: options } = parseArgs({
  options: {
    deposits: { type: 'string', default: '1000000' },
    days: { type: 'string', default: '30' },
    asks: { type: 'string', default: '100' },
    dist: { type: 'string', default: join(root, 'server/dist') },
    data: { type: 'string', default: '/var/tmp' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(`node bench/reads.mjs [--deposits 1000000] [--days 30] [--asks 100] [--dist DIR] [--data DIR]

Fills one account with ${FEW} deposits and asks every question --asks times, then with --deposits and asks again. The table has
p50 and p95 of both. Filling a million takes some fifteen minutes on two cores.

Exit 0: every p95 is at most ${GOAL_MS} ms. 1: one is not, or the bench failed.`)
  process.exit(0)
}

await ensureBuilt()
const { dist, data, days } = options
let url
await withService({ name: 'reads', dist, data }, measure)

async function measure(service) {
  ;({ url } = service)
  const account = await service.signIn(EMAIL, await service.create('account', EMAIL))
  const operator = await service.signIn(OPERATOR, await service.create('operator', OPERATOR))
  await service.seed(EMAIL, FEW, days)
  const few = await askAll(account, operator)
  await service.seed(EMAIL, Number(options.deposits) - FEW, days)
  const many = await askAll(account, operator)
  console.log(
    `\n${'question'.padEnd(48)} ${'p50'.padStart(7)} ${'p95'.padStart(7)}   ${'p50'.padStart(7)} ${'p95'.padStart(7)}`,
  )
  console.log(`${''.padEnd(48)} ${`${FEW} deposits`.padStart(15)}   ${`${options.deposits} deposits`.padStart(15)}`)
  const ms = (tookMs, share) => `${percentile(tookMs, share).toFixed(1)}`.padStart(7)
  for (const [question, tookMs] of many)
    console.log(
      `${question.padEnd(48)} ${ms(few.get(question), 0.5)} ${ms(few.get(question), 0.95)}   ${ms(tookMs, 0.5)} ${ms(tookMs, 0.95)}`,
    )
  const slow = [...many].filter(([, tookMs]) => percentile(tookMs, 0.95) > GOAL_MS).map(([question]) => question)
  console.log(
    slow.length === 0 ? `\nEvery p95 is at most ${GOAL_MS} ms.` : `\nSlower than ${GOAL_MS} ms: ${slow.join('; ')}`,
  )
  return slow.length === 0
}

// ---- The questions ----

async function askAll(account, operator) {
  const questions = await questionsOf(account)
  const took = new Map()
  for (const [question, { as, paths }] of Object.entries(questions)) {
    const cookie = as === 'operator' ? operator : account
    await get(cookie, paths[0])
    const tookMs = []
    for (let asked = 0; asked < Number(options.asks); asked++) {
      const began = performance.now()
      await get(cookie, paths[asked % paths.length])
      tookMs.push(performance.now() - began)
    }
    took.set(question, tookMs)
  }
  return took
}

async function get(cookie, path) {
  const answer = await fetch(`${url}/dashboard${path}`, { headers: { cookie, origin: url } })
  if (!answer.ok) throw new Error(`GET ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

/** Each with several paths, so that no answer is one that was kept. */
async function questionsOf(account) {
  const found = await deposits(account)
  const paid = found.filter(({ endToEndId }) => endToEndId !== null)
  const named = found.filter(({ externalId }) => externalId !== null)
  const list = (query) => `/api/deposits?limit=25&${query}`
  const find = (text) => `/api/search?q=${encodeURIComponent(text)}`
  const findAll = (text) => `/api/operator/search?q=${encodeURIComponent(text)}`
  const amount = (cents) => `${Math.floor(cents / 100)},${String(cents % 100).padStart(2, '0')}`
  const texts = {
    'a reference': named.map(({ externalId }) => externalId),
    'a part of a reference': named.map(({ externalId }) => externalId.slice(-6)),
    'a common word': ['Order', 'ticket', 'Curso', 'course'],
    'nothing that exists': ['azulejo', 'quiosque', 'xadrez-77'],
    'an id': found.map(({ id }) => id),
    'the end of an id': found.map(({ id }) => id.slice(-8)),
    'an E2E id': paid.map(({ endToEndId }) => endToEndId),
    'a part of an E2E id': paid.map(({ endToEndId }) => endToEndId.slice(-9, -1)),
    'an amount': found.map(({ value }) => amount(value)),
    'an e-mail': [EMAIL, 'ana@', 'loja.example'],
  }
  const questions = {
    'list of deposits': { paths: [list('')] },
    'list, a status': {
      paths: ['PENDING', 'COMPLETED', 'EXPIRED', 'CANCELED'].map((status) => list(`status=${status}`)),
    },
    'list, one day': { paths: daysOf(found).map(([from, to]) => list(`from=${from}&to=${to}`)) },
    'statement, newest': { paths: ['/api/statement?limit=25'] },
    'statement, a month': { paths: monthsOf(found).map((month) => `/api/statement?limit=25&${month}`) },
    overview: { paths: ['/api/overview'] },
    'operator: overview': { as: 'operator', paths: ['/api/operator/overview'] },
    'operator: accounts': { as: 'operator', paths: ['/api/operator/accounts?limit=25'] },
    'operator: list of deposits': { as: 'operator', paths: ['/api/operator/deposits?limit=25'] },
    'a deposit': { paths: found.map(({ paymentLinkId }) => `/api/deposit/${paymentLinkId}/timeline`) },
  }
  for (const [what, words] of Object.entries(texts)) {
    questions[`list, ${what}`] = { paths: words.map((text) => list(`search=${encodeURIComponent(text)}`)) }
    questions[`search, ${what}`] = { paths: words.map(find) }
    questions[`operator: search, ${what}`] = { as: 'operator', paths: words.map(findAll) }
  }
  return questions
}

/** Of all ages, so that not only the newest are looked for. */
async function deposits(account) {
  const ages = Array.from({ length: 10 }, (_, tenth) => tenth / 10)
  const pages = []
  for (const age of ages) {
    const to = new Date(Date.now() - age * Number(days) * 86_400_000).toISOString()
    pages.push(...(await get(account, `/api/deposits?limit=5&to=${to}`)).deposits)
  }
  return pages
}

function daysOf(found) {
  return found.map(({ createdAt }) => {
    const day = createdAt.slice(0, 10)
    return [`${day}T03:00:00Z`, new Date(Date.parse(`${day}T03:00:00Z`) + 86_400_000).toISOString()]
  })
}

function monthsOf(found) {
  return [...new Set(found.map(({ createdAt }) => createdAt.slice(0, 7)))].map((month) => {
    const [year, number] = month.split('-').map(Number)
    return `from=${month}-01T03:00:00Z&to=${new Date(Date.UTC(year, number, 1, 3)).toISOString()}`
  })
}
