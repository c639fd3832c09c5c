// Proves that people are told once of each trouble and once of its end, by the bell and by e-mail, whatever is killed
// meanwhile. See prove/README.md.

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { proveClaims } from './claims.mjs'
import { makeApi } from './money/api.mjs'
import { makeRandom } from './money/random.mjs'
import { startMailServer } from './notices/mail-server.mjs'

const CLAIMS = {
  once: 'each trouble is one notice for those concerned, and its end is another one',
  lost: 'every notice in the bell of a person is in an e-mail to that person',
  doubled: 'no notice is in two e-mails, and an e-mail comes again, with its id, only where the service was killed',
  bell: 'every notice in an e-mail is in the bell, with the same words',
  digest: 'a person has at most one e-mail an hour, by the clock of the service',
  answers: 'every answer is one that the request may get; none is a 500',
  audit: 'guiche audit finds no difference',
}

const SHOPS = 5
const WEBHOOKS = 20
const HELD = 100
const OPERATORS = 2
// Held payments, failing webhooks, open exceptions.
const TROUBLES = SHOPS * HELD + SHOPS * WEBHOOKS + SHOPS * HELD
const CALLERS = 8
const VALUE_CENTS = 50_00
// All troubles begin within an hour of the service's clock.
const MINUTES_BETWEEN = 8
const KILLS = 4
// Of e-mails.
const REFUSED = 0.1
// E-mails that the service sends at a time.
const AT_ONCE = 2
const HOUR_MINUTES = 61
const WITHIN_MS = 180_000
// What the mail server refused is due again in the next hour.
const MAILED_WITHIN_MS = 12_000
const ROUNDS = 8
const PAGE = 100

const { values: options } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    dist: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(`node prove/notices.mjs [--seed N] [--dist DIR]

${SHOPS * HELD} payments are held and ${SHOPS * WEBHOOKS} webhooks refuse ${SHOPS * HELD * WEBHOOKS} deliveries within an hour. All is mended in the next hours.
Meanwhile the mail server refuses e-mails and loses answers, and the service is killed.

Exit 0: all claims held. 1: a claim failed. 2: the proof could not run.`)
  process.exit(0)
}

let bank
let service
let clock
let note
let api
let books
const random = makeRandom(options.seed)
/** The service is killed when so many more e-mails were taken, before it hears of the last one. */
const smtp = { random: random.stream('smtp'), killsAfter: Infinity }
const receiver = await startReceiver()
const mailServer = await startMailServer({
  refuses: () => smtp.random.chance(REFUSED),
  answers() {
    smtp.killsAfter -= 1
    if (smtp.killsAfter !== 0) return true
    // Whoever waits for the next restart hears of a failure.
    void restart(0).catch(() => undefined)
    return false
  },
})
const shops = []
const operators = []
let restarting = Promise.resolve()
let kills = 0

await proveClaims({
  name: 'notices',
  claims: CLAIMS,
  prove,
  env: { FEE_BPS: '0', SMTP_URL: mailServer.url, RECONCILE_SECONDS: '5' },
  withinMs: 15 * 60_000,
  dist: options.dist,
})

async function prove(parts) {
  ;({ bank, service, clock, note } = parts)
  console.log(`seed ${options.seed}`)
  await service.start()
  api = makeApi({ url: service.url, note, counts: new Map() })
  for (let index = 0; index < SHOPS; index++) shops.push(await makeShop(`s${index}@loja.example`))
  for (let index = 0; index < OPERATORS; index++) operators.push(await makePerson('operator', `o${index}@ops.example`))
  books = await parts.openBooks()
  const beganAt = clock.now()
  await breakThings()
  await until('everything that is wrong was told', async () => (await countTold()) === TROUBLES)
  const minutes = Math.ceil((clock.now() - beganAt) / 60_000)
  const [{ failed }] = await books.rows(`select count(*) as failed from attempts where coalesce(status, 0) <> 200`)
  console.log(
    `${SHOPS * HELD} payments held and ${SHOPS * HELD * WEBHOOKS} deliveries refused in ${failed} attempts, within ${minutes} minutes`,
  )
  smtp.killsAfter = 2
  await untilMailed()
  await mendThings()
  await until('everything that is over was told', async () => (await countTold()) === 0)
  smtp.killsAfter = 3
  await untilMailed()
  await judge()
  await service.stop()
  const audit = await service.command('audit', '--json')
  if (audit.code !== 0) note('audit', `it exited with ${audit.code}: ${audit.stdout} ${audit.stderr}`.slice(0, 2_000))
  mailServer.stop()
  receiver.stop()
}

// ---- Who is there ----

async function makeShop(email) {
  const person = await makePerson('account', email)
  const urls = Array.from({ length: WEBHOOKS }, (_, index) => `${receiver.url}/${shops.length}/${index}`)
  for (const [index, url] of urls.entries()) {
    const body = { url, name: `Caixa ${index} de ${email}`, events: ['DEPOSIT_HELD'] }
    await mustBe(201, await api(person, 'POST', '/api/webhooks', { body }))
  }
  return person
}

/** Signs in, as people do: their first language is that of their e-mails. */
async function makePerson(kind, email) {
  const { password } = JSON.parse(await run(kind, 'create', '--email', email))
  const created = kind === 'account' ? ['key', 'create'] : ['operator', 'key', 'create']
  const key = (await run(...created, '--email', email, '--name', 'prove')).trim()
  const language = /[02468]@/.test(email) ? 'pt-BR' : 'en'
  const person = { email, password, key, language, path: kind === 'account' ? 'notices' : 'operator/notices' }
  await signIn(person)
  return person
}

async function signIn({ email, password, language }) {
  const answer = await fetch(`${service.url}/dashboard/api/auth/sign-in/email`, {
    method: 'POST',
    headers: { origin: service.url, 'content-type': 'application/json', 'accept-language': language },
    body: JSON.stringify({ email, password }),
  })
  if (answer.status !== 200) throw new Error(`${email} could not sign in: ${answer.status} ${await answer.text()}`)
  return answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
}

async function run(...args) {
  const { code, stdout, stderr } = await service.command(...args)
  if (code !== 0) throw new Error(`guiche ${args.join(' ')} ended with ${code}: ${stderr}`)
  return stdout
}

// ---- What happens ----

async function breakThings() {
  for (let kill = 0; kill < KILLS; kill++) {
    const orders = shops.flatMap((shop) =>
      Array.from({ length: HELD / KILLS }, (_, index) => ({ shop, number: kill * (HELD / KILLS) + index })),
    )
    const killing = sleep(random.int(500, 2_000)).then(() => restart(MINUTES_BETWEEN))
    await Promise.all([atOnce(orders, underpay), killing])
    await until('the payments are held', async () => (await countHeld()) === orders.length * (kill + 1))
  }
  await restart(MINUTES_BETWEEN)
}

/** The payment is made once. */
async function underpay({ shop, number }) {
  const externalId = `${shop.email}-${number}`
  const request = { body: { value: VALUE_CENTS, externalId }, key: externalId }
  // After a kill, the request before it is in progress until its lease ends.
  const { json } = await untilAnswered([200, 201], () => api(shop, 'POST', '/api/deposit', request))
  await bank.pay({ emv: json.charge.emv, amountCents: VALUE_CENTS - 1 - number })
}

async function mendThings() {
  receiver.isBroken = false
  const exceptions = await books.rows('select id from exceptions where resolved_at is null order by id')
  const killing = sleep(1_000).then(() => restart(0))
  const deciding = atOnce(exceptions, ({ id }, index) => writeOff(operators[index % OPERATORS], id))
  await Promise.all([deciding, killing])
  // The longest that a delivery waits for its next attempt by now.
  await restart(24 * 60)
  await until('every delivery arrived', async () => (await books.undelivered()) === 0)
  await restart(2)
}

async function writeOff(operator, id) {
  const body = { how: 'write_off', reason: 'a proof' }
  const path = `/api/operator/exceptions/${id}/resolve`
  // 409: a repetition is told that it is resolved already.
  await untilAnswered([200, 409], () => api(operator, 'POST', path, { body }))
}

async function untilAnswered(wanted, ask) {
  for (const end = Date.now() + WITHIN_MS; ; await sleep(200)) {
    const answer = await ask()
    if (wanted.includes(answer.status)) return answer
    if (Date.now() > end) throw new Error(`it was last answered with ${answer.status}: ${JSON.stringify(answer.json)}`)
  }
}

/** Kills the service, and starts it again some minutes later. One after another, whoever asks. */
function restart(minutes) {
  return (restarting = restarting.then(async () => {
    kills += 1
    await service.kill()
    clock.laterMs += minutes * 60_000
    await service.start()
  }))
}

/** Lets hours pass until no e-mail is due. */
async function untilMailed() {
  for (let round = 0; round < ROUNDS; round++) {
    await restart(HOUR_MINUTES)
    if (await isTrueWithin(MAILED_WITHIN_MS, isMailed)) return
  }
  note('lost', 'e-mails are still due')
}

// ---- What the database says, for waiting ----

async function countHeld() {
  return Number((await books.rows('select count(*) as n from exceptions'))[0].n)
}

async function countTold() {
  const told = await books.rows(
    `select count(*) as n from notices where what = 'began' and over_at is null
       and kind in ('money_held', 'webhook_failing', 'exception_open')`,
  )
  return Number(told[0].n)
}

async function isMailed() {
  const due = await books.rows(
    `select (select count(*) from followers where due_at is not null) + (select count(*) from notice_emails where due_at is not null) as n`,
  )
  return Number(due[0].n) === 0
}

async function until(what, isTrue) {
  if (!(await isTrueWithin(WITHIN_MS, isTrue))) note('once', `not within ${WITHIN_MS / 1000} s: ${what}`)
}

async function isTrueWithin(withinMs, isTrue) {
  for (const end = Date.now() + withinMs; Date.now() < end; await sleep(200)) if (await isTrue()) return true
  return false
}

// ---- At the end ----

async function judge() {
  const people = [...shops, ...operators]
  const emails = new Map(mailServer.taken.map((email) => [email.id, email]))
  const repeated = mailServer.taken.length - emails.size
  if (repeated > AT_ONCE * kills) note('doubled', `${repeated} e-mails came again after ${kills} kills`)
  let told = 0
  for (const person of people) {
    const notices = await readBell(person)
    const own = [...emails.values()].filter(({ to }) => to === person.email)
    judgeTroubles(person, notices)
    judgeEmails(person, notices, own)
    told += notices.length
  }
  console.log(
    `${people.length} people, ${told} notices, ${emails.size} e-mails; ${repeated} came again, ${mailServer.counts.refused} were refused at first; the service was killed ${kills} times`,
  )
}

function judgeTroubles({ email }, notices) {
  const wanted = shops.some((shop) => shop.email === email)
    ? { money_held: HELD, webhook_failing: WEBHOOKS, exception_open: 0 }
    : { money_held: 0, webhook_failing: 0, exception_open: SHOPS * HELD }
  for (const [kind, count] of Object.entries(wanted)) {
    const texts = notices.filter((notice) => notice.kind === kind).map(keyOf)
    const different = new Set(texts).size
    if (texts.length !== 2 * count || different !== 2 * count)
      note(
        'once',
        `${email} was told of ${kind} ${texts.length} times, of which ${different} differ, for ${count} troubles`,
      )
  }
  const open = notices.filter(({ what }) => what === 'began')
  if (open.length > 0) note('once', `${email} reads that ${open.length} troubles are still open`)
}

function judgeEmails({ email, language }, notices, own) {
  const count = own.reduce((sum, one) => sum + one.count, 0)
  if (count < notices.length)
    note('lost', `the e-mails to ${email} tell of ${count} notices, and the bell of ${notices.length}`)
  if (count > notices.length)
    note('doubled', `the e-mails to ${email} tell of ${count} notices, and the bell of ${notices.length}`)
  const inBell = new Set(notices.map(keyOf))
  const seen = new Set()
  for (const { text, link } of own.flatMap((one) => one.notices)) {
    const key = keyOf({ text, path: link.slice(service.url.length) })
    if (!inBell.has(key)) note('bell', `an e-mail to ${email} (${language}) has a notice that the bell lacks: ${key}`)
    if (seen.has(key)) note('doubled', `two e-mails to ${email} have the same notice: ${key}`)
    seen.add(key)
  }
  const times = own.map(({ madeAtMs }) => madeAtMs).toSorted((one, other) => one - other)
  for (const [index, at] of times.entries()) {
    const minutes = index === 0 ? Infinity : (at - times[index - 1]) / 60_000
    if (minutes < 60) note('digest', `${email} got two e-mails within ${minutes.toFixed(1)} minutes`)
  }
}

function keyOf({ text, path }) {
  return `${text} ${path}`
}

async function readBell(person) {
  const cookie = await signIn(person)
  const notices = []
  let cursor = null
  do {
    const query = `language=${person.language}&limit=${PAGE}${cursor ? `&cursor=${cursor}` : ''}`
    const answer = await fetch(`${service.url}/dashboard/api/${person.path}?${query}`, { headers: { cookie } })
    if (answer.status !== 200) throw new Error(`the bell of ${person.email} was answered with ${answer.status}`)
    const page = await answer.json()
    notices.push(...page.notices)
    cursor = page.nextCursor
  } while (cursor !== null)
  return notices
}

// ---- Small parts ----

/** Refuses every event until it is mended. */
async function startReceiver() {
  const state = { isBroken: true }
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(state.isBroken ? 500 : 200).end())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(state, {
    url: `http://127.0.0.1:${server.address().port}`,
    stop() {
      server.close()
      server.closeAllConnections()
    },
  })
}

async function atOnce(items, work) {
  let next = 0
  const worker = async () => {
    while (next < items.length) {
      const index = next++
      await work(items[index], index)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, worker))
}

async function mustBe(wanted, { status, json }) {
  if (status !== wanted) throw new Error(`answered with ${status} in place of ${wanted}: ${JSON.stringify(json)}`)
}
