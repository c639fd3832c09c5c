import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { patience } from '../../scripts/patience.ts'
import { DEPOSIT, OTHER_SECRET, SAMPLE, SECRET, sign, type Signed } from './signer.ts'

// People copy what the guides show into a place that books money. So the receivers are programs, and here they run.

const START_WITHIN_MS = 120_000

type Receiver = { url: string; output(): string }

const read = (name: string) => readFileSync(new URL(`../${name}`, import.meta.url), 'utf8')
const example = (name: string) => fileURLToPath(new URL(`../examples/${name}`, import.meta.url))
const isHere = (program: string) => spawnSync(program, ['--version']).status === 0

// The PHP receiver leaves it to a database to recognize repeated events, so here it credits both deliveries.
const RECEIVERS = [
  { name: 'receiver.ts', isRunnable: true, start: importReceiver, credits: 1 },
  { name: 'receiver.py', isRunnable: isHere('python3'), start: startPython, credits: 1 },
  { name: 'receiver.php', isRunnable: isHere('php'), start: startPhp, credits: 2 },
]

test.each(RECEIVERS)('the guide to webhooks shows $name as it is', ({ name }) => {
  expect(read('webhooks.md')).toContain(`\n${read(`examples/${name}`)}\`\`\`\n`)
})

test('the README shows deposit.ts as it is', () => {
  const code = read('examples/deposit.ts').replace(/^\/\/.*\n\n/, '')
  expect(read('README.md')).toContain(`\`\`\`ts\n${code}\`\`\`\n`)
})

// A machine without Python or PHP can still develop guiche.
describe.each(RECEIVERS)('$name', ({ isRunnable, start, credits }) => {
  test.runIf(isRunnable)('accepts what is genuine, and refuses everything else', async () => {
    const receiver = await start(await freePort())
    const at = new Date()
    const old = new Date(at.getTime() - 301_000)
    const genuine = sign(DEPOSIT, { at })

    expect(await post(receiver, genuine)).toBe(204)
    expect(await post(receiver, sign(DEPOSIT, { at, secrets: [OTHER_SECRET, SECRET] }))).toBe(204)
    expect(await post(receiver, sign({ ...DEPOSIT, event: 'NEW_KIND', data: {} }, { at, id: 'evt_2' }))).toBe(204)

    // Whether it is refused or ignored, nothing is credited.
    expect([204, 400]).toContain(await post(receiver, sign(SAMPLE, { at, id: SAMPLE.id })))

    expect(await post(receiver, { ...genuine, body: genuine.body.replace('4950', '9950') })).toBe(400)
    expect(await post(receiver, { ...genuine, headers: { ...genuine.headers, 'webhook-id': 'evt_3' } })).toBe(400)
    expect(await post(receiver, sign(DEPOSIT, { at, secrets: [OTHER_SECRET] }))).toBe(400)
    expect(await post(receiver, sign(DEPOSIT, { at, secrets: [] }))).toBe(400)
    expect(await post(receiver, sign(DEPOSIT, { at: old }))).toBe(400)
    expect(await post(receiver, { body: genuine.body, headers: {} })).toBe(400)
    expect(await post(receiver, sign('no JSON', { at }))).toBe(400)
    expect(receiver.output().match(/\d+ cents credited/g)).toEqual(Array(credits).fill('4950 cents credited'))
  })
})

async function post(
  receiver: Receiver,
  { body, headers }: { body: string; headers: Partial<Signed['headers']> },
): Promise<number> {
  const response = await fetch(receiver.url, {
    method: 'POST',
    body,
    headers: { ...headers, 'content-type': 'application/json' },
  })
  return response.status
}

/**
 * Runs the receiver in this process: the oldest Node that we support cannot run TypeScript. It ends with the test's
 * worker.
 */
async function importReceiver(port: number): Promise<Receiver> {
  vi.stubEnv('PORT', String(port)).stubEnv('WEBHOOK_SECRET', SECRET)
  const write = vi.spyOn(process.stdout, 'write')
  onTestFinished(() => void vi.unstubAllEnvs().restoreAllMocks())
  await import('../examples/receiver.ts')
  return untilReady({ url: `http://127.0.0.1:${port}/`, output: () => write.mock.calls.join('') })
}

function startPython(port: number): Promise<Receiver> {
  return spawnReceiver('python3', [example('receiver.py')], port)
}

function startPhp(port: number): Promise<Receiver> {
  return spawnReceiver('php', ['-S', `127.0.0.1:${port}`, example('receiver.php')], port)
}

async function spawnReceiver(program: string, args: string[], port: number): Promise<Receiver> {
  const env = { PATH: process.env['PATH'], PORT: String(port), WEBHOOK_SECRET: SECRET }
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return untilReady({ url: `http://127.0.0.1:${port}/`, output: () => output })
}

async function untilReady(receiver: Receiver): Promise<Receiver> {
  const end = Date.now() + START_WITHIN_MS * patience()
  while (Date.now() < end) {
    if (await fetch(receiver.url, { method: 'POST' }).catch(() => undefined)) return receiver
    await sleep(20)
  }
  throw new Error(`the receiver did not start: ${receiver.output()}`)
}
