import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { makeGuiche } from '../src/client.ts'
import { startProxy } from './sockets.ts'

// People start from what the examples show. So they run here, over a network that loses the first answer.

type Run = { output(): string; ended: Promise<unknown> }
type Env = { GUICHE_URL: string; GUICHE_KEY: string }

const example = (name: string) => fileURLToPath(new URL(`../examples/${name}`, import.meta.url))
const isHere = (program: string) => spawnSync(program, ['--version']).status === 0

const EXAMPLES = [
  { name: 'deposit.ts', program: '', start: importExample },
  { name: 'deposit.py', program: 'python3', start: spawnExample },
  { name: 'deposit.php', program: 'php', start: spawnExample },
]

const { url, key, bankUrl } = inject('guiche')

describe.each(EXAMPLES)('$name', ({ name, program, start }) => {
  test('creates one deposit although the first answer is lost, and sees it paid', async ({ skip }) => {
    // A machine without Python or PHP can still develop guiche.
    skip(program !== '' && !isHere(program), `${program} is not installed`)
    const proxy = await startProxy(url)
    proxy.loseAnswers(1)
    const order = randomUUID()
    const run = start({ program, name, order, env: { GUICHE_URL: proxy.url, GUICHE_KEY: key } })
    await expect.poll(run.output).toMatch(/Pay with this code: .+\n/)

    const emv = /code: (.+)/.exec(run.output())?.[1]
    const headers = { 'content-type': 'application/json' }
    await fetch(`${bankUrl}/bank/pay`, { method: 'POST', headers, body: JSON.stringify({ emv }) })
    await run.ended
    expect(run.output()).toMatch(/\n4950 cents credited\n$/)
    const { items } = await makeGuiche({ url, key }).deposits.list({ externalId: order }).page()
    expect(items).toMatchObject([{ emv, status: 'COMPLETED' }])
  })

  test('says which code it was refused with', async ({ skip }) => {
    // A machine without Python or PHP can still develop guiche.
    skip(program !== '' && !isHere(program), `${program} is not installed`)
    const run = start({ program, name, order: 'order-1', env: { GUICHE_URL: url, GUICHE_KEY: 'gk_test_wrong' } })
    await run.ended
    expect(run.output()).toMatch(/^key_invalid: .*Invalid API key/)
  })
})

type Start = { program: string; name: string; order: string; env: Env }

/** Runs the example in this process: the oldest Node that we support cannot run TypeScript. */
function importExample({ name, order, env }: Start): Run {
  for (const [variable, value] of Object.entries(env)) vi.stubEnv(variable, value)
  const { argv, exitCode } = process
  process.argv = [process.execPath, name, order]
  const spies = [vi.spyOn(process.stdout, 'write'), vi.spyOn(process.stderr, 'write')]
  for (const spy of spies) spy.mockReturnValue(true)
  onTestFinished(() => {
    Object.assign(process, { argv, exitCode })
    vi.unstubAllEnvs().restoreAllMocks().resetModules()
  })
  return {
    ended: import('../examples/deposit.ts'),
    output: () => spies.flatMap((spy) => spy.mock.calls.map(([text]) => String(text))).join(''),
  }
}

function spawnExample({ program, name, order, env }: Start): Run {
  const child = spawn(program, [example(name), order], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return { ended: once(child, 'close'), output: () => output }
}
