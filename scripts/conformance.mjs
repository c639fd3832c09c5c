// `npm run conformance -- <openapi.yaml>`: checks the requests of the API Pix adapter and the answers of the sandbox
// against the central bank's description.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { ensureBuilt, fail, root } from './bootstrap.mjs'

const MINUTE_MS = 60_000
// The operations of the adapter, as the description names them. Each must be sent, and answered with success, at least
// once.
const OPERATIONS = [
  'POST /oauth/token',
  'PUT /cob/{txid}',
  'GET /cob/{txid}',
  'PATCH /cob/{txid}',
  'GET /pix',
  'GET /pix/{e2eid}',
  'PUT /pix/{e2eid}/devolucao/{id}',
  'GET /pix/{e2eid}/devolucao/{id}',
  'PUT /webhook/{chave}',
  'notification',
]

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { sabotage: { type: 'string' }, dist: { type: 'string' }, help: { type: 'boolean' } },
})
const { SABOTAGES } = await import('../prove/conformance/sabotage.mjs')
if (options.help || positionals.length !== 1 || !isSabotage(options.sabotage)) {
  console.log(help())
  process.exit(options.help ? 0 : 2)
}
if (!existsSync(positionals[0]))
  fail(`${positionals[0]} does not exist: give the path of the central bank's openapi.yaml.`)
if (!options.dist) await ensureBuilt()
const dist = resolve(options.dist ?? join(root, 'server/dist'))
// These are imported after the build, and need what `npm ci` installs for developers only.
const { readDocument } = await import('../prove/conformance/document.mjs')
const { startProxy, startReceiver } = await import('../prove/conformance/proxy.mjs')
const { makeAllCalls } = await import('../prove/conformance/calls.mjs')
const { makeApiPix } = await load('providers/api-pix/adapter.js')
const { openSandbox } = await load('sandbox/server.js')
const { BANK_PROFILES, BANK_NAMES } = await load('providers/api-pix/banks/bank-profiles.js')
const { STANDARD_ACCESS } = await load('providers/api-pix/banks/bank-profile.js')
process.exitCode = options.sabotage === 'all' ? await sabotageAll() : await checkOnce(options.sabotage)

/** Resolves to the exit code. 0: no complaints. */
async function checkOnce(name) {
  const result = await runAll({ sabotage: name && SABOTAGES[name] })
  console.log(describe(result))
  const complaints = result.complaints.length + (name ? 0 : await checkBanks())
  return complaints === 0 ? 0 : 1
}

/** The same calls with the profile of each bank, to a sandbox that demands its ways. Resolves to the complaints. */
async function checkBanks() {
  console.log('\nAs each bank:')
  let count = 0
  for (const bank of BANK_NAMES) {
    const { rows, complaints } = await runAll({ bank })
    const requests = [...rows.values()].reduce((sum, row) => sum + row.requests, 0)
    console.log(`  ${bank.padEnd(12)}${requests} requests, ${complaints.length} complaints`)
    for (const text of complaints) console.log(`    ${text}`)
    count += complaints.length
  }
  return count
}

/** Resolves to the exit code. 0: no complaints about the intact run, and some about every broken one. */
async function sabotageAll() {
  const healthy = await runAll()
  console.log(describe(healthy))
  let missed = healthy.complaints.length > 0 ? 1 : 0
  if ((await checkBanks()) > 0) missed += 1
  console.log('\nBroken on purpose:')
  for (const [name, sabotage] of Object.entries(SABOTAGES)) {
    const { complaints } = await runAll({ sabotage })
    if (complaints.length === 0) missed += 1
    const verdict = complaints.length === 0 ? 'NOT NOTICED' : `noticed (${complaints.length}): ${complaints[0]}`
    console.log(`  ${name.padEnd(20)} ${sabotage.says}\n${' '.repeat(23)}${verdict}`)
  }
  console.log(missed === 0 ? '\nEvery sabotage was noticed.' : '\nA sabotage was not noticed: see above.')
  return missed === 0 ? 0 : 1
}

async function runAll({ sabotage, bank: as } = {}) {
  const document = readDocument(positionals[0])
  const bank = await openBank(as)
  const receiver = await startReceiver({ sabotage })
  const proxy = await startProxy({ target: () => bank.origin, tls: bank.tls, sabotage })
  try {
    const access = {
      url: proxy.url + bank.basePath,
      tokenUrl: proxy.url + bank.tokenPath,
      access: { ...bank.profile, query: bank.query },
    }
    const calls = await makeAllCalls({ makeApiPix, bank, access, receiver, skips: sabotage?.skips })
    return judge({ document, bank, exchanges: proxy.exchanges, notifications: receiver.notifications, ...calls })
  } finally {
    await proxy.stop()
    await receiver.stop()
    await bank.stop()
  }
}

/** Checks every message against the document, every token for its scopes, and that nothing was left out. */
function judge({ document, bank, exchanges, notifications, surprises, used }) {
  const rows = new Map(OPERATIONS.map((name) => [name, { requests: 0, answers: new Map(), violations: [] }]))
  const rowOf = (name) =>
    rows.get(name) ?? rows.set(name, { requests: 0, answers: new Map(), violations: [] }).get(name)
  const tokens = new Map()
  for (const { request: sent, answer } of exchanges) {
    const request = asDescribed(bank, sent)
    const isToken = request.url.startsWith('/oauth/token')
    const checked = isToken ? checkTokenRequest(document, request, bank.profile) : document.checkRequest(request)
    const row = rowOf(checked.operation ?? 'not described')
    row.requests += 1
    row.violations.push(...checked.violations.map((text) => `request: ${text}`))
    if (!isToken) row.violations.push(...checkToken({ document, tokens, request, operation: checked.operation }))
    if (!answer) continue
    row.answers.set(answer.status, (row.answers.get(answer.status) ?? 0) + 1)
    const wrong = isToken
      ? checkTokenAnswer({ tokens, request, answer })
      : checked.operation
        ? document.checkAnswer(checked.operation, answer)
        : []
    row.violations.push(...wrong.map((text) => `answer ${answer.status}: ${text}`))
  }
  for (const notification of notifications) {
    const row = rowOf('notification')
    row.requests += 1
    row.violations.push(...document.checkNotification(notification))
    if (!notification.url.endsWith('/pix'))
      row.violations.push(`is posted to ${notification.url}, which does not end in /pix`)
  }
  const complaints = [
    ...[...rows].flatMap(([name, row]) => grouped(row.violations).map((text) => `${name}: ${text}`)),
    ...surprises.map((text) => `the adapter: ${text}`),
    ...[...rows].flatMap(([name, row]) =>
      isExercised(name, row) ? [] : [`${name} was never ${row.requests > 0 ? 'granted' : 'sent'}`],
    ),
    ...[...used].flatMap(([name, times]) => (times > 0 ? [] : [`the adapter's ${name}() was never called`])),
  ]
  return { title: document.title, rows, deviations: document.deviations, used, complaints }
}

/** Without what this bank wants besides the description: its paths, and its query parameters. */
function asDescribed({ basePath, tokenPath, query }, request) {
  const [path, search = ''] = request.url.split('?')
  const kept = search.split('&').filter((pair) => !(pair.split('=')[0] in query))
  const known = path === tokenPath ? '/oauth/token' : path.slice(basePath.length)
  return { ...request, url: kept.join('&') === '' ? known : `${known}?${kept.join('&')}` }
}

function isExercised(name, row) {
  return name === 'notification' ? row.requests > 0 : [...row.answers.keys()].some((status) => status < 300)
}

// ---- Tokens: the description names the flow and the scopes, RFC 6749 the messages ----

function checkTokenRequest(document, { method, url, headers, body }, { auth, scope, tokenQuery }) {
  const form = new URLSearchParams(body)
  const query = new URL(url, 'http://bank').searchParams
  const given = (name) => (tokenQuery.includes(name) ? query : form).get(name) ?? ''
  const hasLogin = {
    basic: /^Basic [\w+/]+=*$/.test(headers.authorization ?? ''),
    body: form.has('client_id') && form.has('client_secret'),
    certificate: form.has('client_id') && !form.has('client_secret'),
  }
  const scopes = scope === '' ? [] : given('scope').split(' ')
  const violations = [
    ...(method === 'POST' ? [] : [`${method} instead of POST`]),
    ...(headers['content-type'] === 'application/x-www-form-urlencoded' ? [] : ['is not a form']),
    ...(given('grant_type') === 'client_credentials' ? [] : ['grant_type is not client_credentials']),
    ...(hasLogin[auth] ? [] : [`does not log in by ${auth}`]),
    ...scopes.flatMap((scope) => (document.isScope(scope) ? [] : [`scope ${JSON.stringify(scope)} is not described`])),
  ]
  return { operation: 'POST /oauth/token', violations }
}

function checkTokenAnswer({ tokens, answer }) {
  const body = JSON.parse(answer.body)
  if (answer.status >= 400) return typeof body.error === 'string' ? [] : ['has no error']
  tokens.set(body.access_token, body.scope?.split(' ') ?? [])
  const isWhole =
    typeof body.access_token === 'string' && body.token_type === 'Bearer' && Number.isInteger(body.expires_in)
  return isWhole ? [] : ['lacks access_token, token_type or expires_in']
}

function checkToken({ document, tokens, request, operation }) {
  const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]
  if (!tokens.has(token)) return ['request: has no token that was issued']
  const missing = document.scopesOf(operation).filter((scope) => !tokens.get(token).includes(scope))
  return missing.map((scope) => `request: its token lacks the scope ${scope}`)
}

// ---- The bank ----

/** `as`: one that demands the ways of a bank. */
async function openBank(as) {
  const home = mkdtempSync(join(tmpdir(), 'guiche-conformance-'))
  let aheadMs = 0
  const now = () => new Date(Date.now() + aheadMs)
  const sandbox = await openSandbox({ home, port: 0, now, as })
  const call = async (method, path, body) => {
    const sent = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
    const answer = await fetch(`${sandbox.url}${path}`, { method, ...sent })
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`)
    return answer.json()
  }
  const profile = as ? BANK_PROFILES[as] : STANDARD_ACCESS
  return {
    ...placesOf(sandbox),
    profile,
    query: profile.live?.asksQuery ? { [profile.live.asksQuery]: 'conformance' } : {},
    now,
    pay: async (order) => (await call('POST', '/bank/pay', order)).pix,
    faults: (plan) => call('PUT', '/bank/faults', plan),
    stats: () => call('GET', '/bank/stats'),
    // Tokens last for an hour by the bank's clock.
    forgetTokens: async () => void (aheadMs += 61 * MINUTE_MS),
    async stop() {
      await sandbox.stop()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

function placesOf({ url, customer }) {
  if (!customer) return { origin: url, basePath: '', tokenPath: '/oauth/token' }
  const { origin, pathname: basePath } = new URL(customer.url)
  const { cert, key, ca } = customer.files
  const tls = { cert: readFileSync(cert), key: readFileSync(key), ca: readFileSync(ca) }
  return { origin, basePath, tokenPath: new URL(customer.tokenUrl).pathname, tls }
}

// ---- What is printed ----

function describe({ title, rows, deviations, used, complaints }) {
  const counts = [...rows].map(([name, row]) => {
    const answers = [...row.answers].toSorted(([a], [b]) => a - b).map(([status, times]) => `${status}×${times}`)
    return [name, String(row.requests), answers.join(' ') || '-', String(row.violations.length)]
  })
  const requests = [...rows.values()].reduce((sum, row) => sum + row.requests, 0)
  const answers = [...rows.values()].flatMap((row) => [...row.answers.values()]).reduce((sum, times) => sum + times, 0)
  return [
    `Checked against ${title}`,
    '',
    table(['OPERATION', 'REQUESTS', 'ANSWERS', 'VIOLATIONS'], counts),
    '',
    `Calls of the adapter: ${[...used].map(([name, times]) => `${name} ${times}`).join(', ')}`,
    '',
    'Deviations from the description:',
    ...deviations.map(({ name, reason, uses }) => `  ${name} (${uses}×): ${reason}`),
    '',
    ...(complaints.length === 0
      ? [`${requests} requests and ${answers} answers match the description.`]
      : [
          complaints.length === 1 ? '1 complaint:' : `${complaints.length} complaints:`,
          ...complaints.map((text) => `  ${text}`),
        ]),
  ].join('\n')
}

function table(head, rows) {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)))
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

function grouped(texts) {
  const times = new Map()
  for (const text of texts) times.set(text, (times.get(text) ?? 0) + 1)
  return [...times].map(([text, count]) => (count === 1 ? text : `${text} (${count} times)`))
}

function isSabotage(name) {
  return name === undefined || name === 'all' || name in SABOTAGES
}

function load(path) {
  return import(pathToFileURL(join(dist, path)).href)
}

function help() {
  const listed = Object.entries(SABOTAGES).map(([name, { says }]) => `  ${name.padEnd(22)}${says}`)
  return [
    'npm run conformance -- <openapi.yaml> [--sabotage <name>|all] [--dist <directory>]',
    '',
    'Makes all calls of the API Pix adapter against the sandbox, through a proxy that records them, and checks every request,',
    "answer and notification against the central bank's description (https://github.com/bacen/pix-api, openapi.yaml).",
    'The same calls are then made with the profile of each bank, to a sandbox that behaves as that bank.',
    'Exits 1 when something does not match the description, or when a call of the adapter was never made.',
    '',
    '--sabotage breaks the messages in the proxy, and then the exit code must be 1. "all" tries each, and exits 0 when every one',
    'was noticed:',
    '',
    ...listed,
    '',
    '--dist checks a build other than server/dist.',
  ].join('\n')
}
