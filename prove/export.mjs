// Proves a long export with two programs, and finds each damage of it. See prove/README.md.

import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream, openSync } from 'node:fs'
import { stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { root } from '../scripts/bootstrap.mjs'
import { proveClaims } from './claims.mjs'
import { makeAccounts, openDatabase } from './history/database.mjs'
import { bearer } from './history/readers.mjs'

const CLAIMS = {
  proven: 'guiche verify proves the export with the key of the log alone',
  second: 'a second verifier, in another language, proves it too',
  damage: 'each kind of damage is found at its position, and no other position is named',
  receipt: 'the receipt of one event is proven alone, and proves no other event',
}

const { values: options } = parseArgs({
  options: {
    dist: { type: 'string' },
    events: { type: 'string', default: '1000000' },
    help: { type: 'boolean', default: false },
  },
})
if (options.help) {
  console.log(`node prove/export.mjs [--events N] [--dist DIR]

Writes events of one account among those of nine others, exports its history, and proves the file with guiche verify and
docs/verify/main.go (if there is Go). Then it damages the file in ten ways. Prints how long each step takes; with a
million events, which is the default, about five minutes.

Exit 0: all claims held. 1: a claim failed. 2: the proof could not run.`)
  process.exit(0)
}

const EVENTS = Number(options.events)
const ACCOUNTS = 10
const IN_ONE_TRANSACTION = 500
// The events of others between those of the account: their leaves are hashes in its export.
const OF_OTHERS = 50
const WHOLE_WITHIN_MS = 40 * 60_000
const POLL_MS = 200

const flip = (base64) => `${base64.startsWith('A') ? 'B' : 'A'}${base64.slice(1)}`
const edit = (change) => (lines) => [JSON.stringify(change(JSON.parse(lines[0]))), ...lines.slice(1)]

/** Of two lines that follow each other. Each is at a position of its own, far from the others. */
const DAMAGES = {
  'a byte of a body': [edit((line) => ({ ...line, body: line.body.replace('"WEBHOOK', '"WEBH00K') })), ['altered']],
  'a salt': [edit((line) => ({ ...line, salt: flip(line.salt) })), ['altered']],
  'a class': [edit((line) => ({ ...line, class: 'line' })), ['altered']],
  'a position': [edit((line) => ({ ...line, position: line.position + 1 })), ['position', 'altered']],
  // Who altered only the hash is known when the whole file fits otherwise.
  'a hash alone': [edit((line) => ({ ...line, hash: flip(line.hash) })), ['altered']],
  'a line removed': [([, next]) => [next], ['missing']],
  'a line doubled': [([line, next]) => [line, line, next], ['repeated']],
  'two lines swapped': [([line, next]) => [next, line], ['missing', 'repeated']],
  'garbage in place of a line': [([, next]) => ['{', next], ['missing']],
  'a line of another account': [edit(({ leaf, hash }) => ({ from: leaf, level: 0, hash })), ['position']],
}
/** Beside the place: hashes of blocks and of the whole do not fit either, and garbage says no position. */
const WITHOUT_PLACE = ['block', 'root', 'size', 'unreadable']

const dist = resolve(options.dist ?? join(root, 'server/dist'))
const env = { SECRET_KEY: randomBytes(32).toString('hex') }
await proveClaims({ name: 'export', claims: CLAIMS, prove, env, withinMs: WHOLE_WITHIN_MS, dist: options.dist })

async function prove({ service, home, note }) {
  await service.start()
  const database = await openDatabase({ dist, home, secretKey: env.SECRET_KEY })
  const accounts = await makeAccounts(database, { dist, count: ACCOUNTS })
  await timed(`${EVENTS} events written`, () => writeEvents(database, accounts))
  await timed('the last of them numbered', () => untilNumbered(database))
  const file = join(home, 'history.jsonl')
  await timed('exported', () => download(`${service.url}/api/events/export`, accounts[0], file))
  console.log(`${((await stat(file)).size / 1024 / 1024).toFixed(0)} MiB`)
  const { keys } = await fetch(`${service.url}/.well-known/guiche-log.json`).then((answer) => answer.json())
  const verify = (...args) => service.command('verify', ...args, '--key', keys[0], '--json')

  const { code, stdout, stderr } = await timed('proven by guiche verify', () => verify(file))
  const { positions } = JSON.parse(stdout)
  // Its key was created, too.
  if (code !== 0 || positions !== EVENTS + 1) note('proven', `exit code ${code}, ${positions} positions: ${stderr}`)
  await proveInGo({ file, key: keys[0], home, note })
  await proveReceipt({ service, account: accounts[0], home, verify, note })
  await findDamage({ file, verify, note })
  await database.close()
}

async function timed(what, work) {
  const began = performance.now()
  const result = await work()
  console.log(`${what}: ${((performance.now() - began) / 1000).toFixed(1)} s`)
  return result
}

async function writeEvents(database, [owner, ...others]) {
  const own = IN_ONE_TRANSACTION - OF_OTHERS
  for (let written = 0; written < EVENTS; written += own) {
    const count = Math.min(own, EVENTS - written)
    const ids = Array.from({ length: count }, () => owner.id)
    const between = Array.from({ length: OF_OTHERS }, (_, place) => others[(written + place) % others.length].id)
    await database.tell([...ids, ...between])
  }
}

async function untilNumbered(database) {
  while ((await database.rows('select from unnumbered order by place limit 1')).length > 0) await sleep(POLL_MS)
}

async function download(url, account, file) {
  const answer = await fetch(url, { headers: bearer(account) })
  if (!answer.ok) throw new Error(`GET ${url} answered ${answer.status}`)
  await pipeline(Readable.fromWeb(answer.body), createWriteStream(file))
}

async function proveInGo({ file, key, home, note }) {
  if (spawnSync('go', ['version']).status !== 0) return console.log('not proven in Go: install golang-go')
  const program = join(home, 'verify')
  const environment = { ...process.env, GO111MODULE: 'off', GOCACHE: join(home, 'go-cache') }
  spawnSync('go', ['build', '-o', program, join(root, 'docs/verify/main.go')], { env: environment, stdio: 'inherit' })
  const run = () => spawnSync(program, [key], { stdio: [openSync(file), 'pipe', 'pipe'], encoding: 'utf8' })
  const { status, stdout, stderr } = await timed('proven in Go', async () => run())
  if (status !== 0 || !stdout.includes(` ${EVENTS + 1} positions`))
    note('second', `exit code ${status}: ${stdout} ${stderr}`)
}

async function proveReceipt({ service, account, home, verify, note }) {
  const get = (path) => fetch(`${service.url}/api/events${path}`, { headers: bearer(account) })
  const after = Math.floor(EVENTS / 2)
  const page = await get(`?after=${after}&limit=2`).then((answer) => answer.json())
  // As a webhook gets them: positions are told beside the bytes.
  const [event, other] = page.events.map((told) => ({ ...told, position: undefined }))
  const receipt = join(home, 'event.tlog-proof')
  await writeFile(receipt, await get(`/${event.id}/receipt`).then((answer) => answer.text()))
  for (const [told, wanted] of [
    [event, 0],
    [other, 1],
  ]) {
    const bytes = join(home, 'event.json')
    await writeFile(bytes, JSON.stringify(told))
    const { code, stdout } = await verify('--receipt', receipt, '--event', bytes)
    if (code !== wanted) note('receipt', `of position ${after + 1}: exit code ${code} for ${told.id}: ${stdout}`)
  }
}

// ---- Damage ----

async function findDamage({ file, verify, note }) {
  const damaged = `${file}.damaged`
  const damages = Object.entries(DAMAGES)
  const step = Math.floor(EVENTS / (damages.length + 1))
  const places = damages.map(([name, [damage, codes]], index) => ({
    position: (index + 1) * step,
    name,
    damage,
    codes,
  }))
  await pipeline(Readable.from(damageLines(file, places)), createWriteStream(damaged))
  const { code, stdout } = await timed('ten damages found', () => verify(damaged))
  const { problems } = JSON.parse(stdout)
  if (code !== 1) note('damage', `exit code ${code}`)
  const exact = problems.filter((problem) => !WITHOUT_PLACE.includes(problem.code))
  const isNear = (position) => (problem) => problem.position >= position && problem.position <= position + 2
  for (const { position, name, codes } of places) {
    const said = exact.filter(isNear(position))
    const missed = codes.filter((wanted) => !said.some((problem) => problem.code === wanted))
    if (missed.length > 0) note('damage', `${name} at position ${position}: not said: ${missed.join(', ')}`)
    else console.log(`${name} at position ${position}: ${said.map((problem) => problem.code).join(', ')}`)
  }
  const others = exact.filter((problem) => !places.some(({ position }) => isNear(position)(problem)))
  for (const problem of others) note('damage', `named without damage: ${JSON.stringify(problem)}`)
}

async function* damageLines(file, places) {
  const damages = new Map(places.map((place) => [place.position, place.damage]))
  let pair = []
  let damage
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    damage ??= damages.get(Number(/^\{"leaf":\d+,"position":(\d+),/.exec(line)?.[1]))
    if (damage) pair.push(line)
    if (damage && pair.length < 2) continue
    yield damage ? `${damage(pair).join('\n')}\n` : `${line}\n`
    pair = []
    damage = undefined
  }
}
