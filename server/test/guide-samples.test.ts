import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { makeNumberingMemory, numberPending } from '../src/domain/history/number-pending.ts'
import { CODE_LANGUAGES } from '../src/http/docs/guide.ts'
import { startChild } from './process.ts'
import { settleAll } from './refund-steps.ts'
import { get } from './requests.ts'
import { world, type World } from './world.ts'

// People start from the code of the guide. So it runs here, from the first deposit to a payout, in each language.

type Run = (name: string) => Promise<string>
type Env = Record<string, string>

const pathOf = (file: string) => fileURLToPath(new URL(`../data/guide/samples/${file}`, import.meta.url))
const runs = (program: string, ...args: string[]) => spawnSync(program, args).status === 0

const WAYS: Record<(typeof CODE_LANGUAGES)[number]['id'], { program: string; isHere: boolean }> = {
  typescript: { program: '', isHere: true },
  python: { program: 'python3', isHere: runs('python3', '--version') },
  php: { program: 'php', isHere: runs('php', '-r', 'exit(extension_loaded("curl") ? 0 : 1);') },
  curl: { program: 'bash', isHere: runs('bash', '--version') && runs('curl', '--version') },
}

describe.each(CODE_LANGUAGES.map((language) => ({ ...language, ...WAYS[language.id] })))(
  'the code of the guide in $name',
  ({ id, ending, program, isHere }) => {
    test('does what the guide says, in the order in which it is read', async ({ skip }) => {
      // A machine without Python, PHP or curl can still develop guiche.
      skip(!isHere, `${program} is not installed, or lacks curl`)
      const { w, env, key } = await shop()
      const run: Run = (name) => (program === '' ? runHere(name, env) : runProgram(program, `${name}.${ending}`, env))
      const isJson = id === 'curl'
      const shows = async (name: string, printed: RegExp, answered: RegExp) =>
        expect([name, await run(name)]).toEqual([name, expect.stringMatching(isJson ? answered : printed)])

      if (isJson) await shows('guiche', /^$/, /"balance":0/)
      await shows('ensure', /^PENDING http:\/\/127\.0\.0\.1:\d+\/payment-link\/\S+\n$/, /"status":"PENDING"/)
      const first = await orderOf(w, key)
      env['PAYMENT_LINK_ID'] = first.paymentLinkId
      await w.sandbox.pay({ emv: first.emv })
      await shows('paid', /^paid, 4950 cents credited\n$/, /"status":"COMPLETED".*"creditedValue":4950/)
      await shows('refused', /^order_paid\b/, /guiche-error: order_paid/i)
      const memory = makeNumberingMemory()
      while ((await numberPending(w.ctx, memory)) !== 'idle');
      await shows('catch-up', /^1 DEPOSIT_ASSET_SUCCESS\n$/, /"position":1.*"next":"[0-9a-f]{32}\.1"/)

      const created = await run('create')
      expect(created).toMatch(/[0-9a-f-]{36}/)
      expect(await run('create')).toBe(created)

      await shows('add-webhook', /whsec_/, /"secret":"whsec_/)
      await shows('refund', /^2000 (PROCESSING|DONE)\n$/, /"value":2000/)
      await payAgain(w, first.emv)
      await shows('held', /^4000 second_payment under review\n$/, /"value":4000.*"reason":"second_payment"/)
      await shows('payout', /^2950 1000 REQUESTED\n$/, /"status":"REQUESTED"/)
      await shows('statement', /^0 1950\n(.|\n)*^deposit 4950 order-1042$/m, /order-1042/)
      expect(await w.count('refunds')).toBe(1)
      expect(await w.count('payouts')).toBe(1)
    })

    test('says which code it was refused with', async ({ skip }) => {
      // A machine without Python, PHP or curl can still develop guiche.
      skip(!isHere, `${program} is not installed, or lacks curl`)
      const { env } = await shop()
      env['GUICHE_KEY'] = 'gk_test_wrong'
      const failed = program === '' ? runHere('ensure', env) : runProgram(program, `ensure.${ending}`, env)
      expect(await failed.catch(String)).toMatch(id === 'curl' ? /"Invalid API key"/ : /key_invalid|Invalid API key/)
    })
  },
)

test.runIf(WAYS.curl.isHere)('the bank of the sandbox pays another amount, errs as it is told, and heals', async () => {
  const { w, env, key } = await shop()
  await runProgram('bash', 'ensure.sh', env)
  const { emv, paymentLinkId } = await orderOf(w, key)
  expect(await runProgram('bash', 'pay.sh', { ...env, EMV: emv })).toMatch(/"amountCents":4000/)
  await w.app.inject(get(key, `/api/deposits/${paymentLinkId}`))
  expect((await orderOf(w, key)).heldValue).toBe(4000)
  const [faulty, healed] = (await runProgram('bash', 'faults.sh', env)).split('}').map((part) => `${part}}`)
  expect(JSON.parse(faulty!)).toMatchObject({ dropNotifications: 1, loseAnswerRate: 0.3 })
  expect(JSON.parse(healed!)).toMatchObject({ dropNotifications: 0, loseAnswerRate: 0 })
})

/** A service that listens at its own address, with an account that may do everything. */
async function shop(): Promise<{ w: World; env: Env; key: string }> {
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const settings = { publicUrl, refunds: { byAccounts: true, returnFee: false } }
  // The guide reads the statement of this month.
  const w = await world({ settings, at: new Date('2026-01-15T12:00:00Z') })
  await w.app.listen({ port, host: '127.0.0.1' })
  const { key } = await w.account()
  return { w, key, env: { GUICHE_URL: publicUrl, GUICHE_KEY: key, BANK: w.sandbox.url } }
}

type Ordered = { paymentLinkId: string; emv: string; heldValue: number }

async function orderOf(w: World, key: string): Promise<Ordered> {
  const { deposits } = (await w.app.inject(get(key, '/api/orders/order-1042'))).json<{ deposits: Ordered[] }>()
  return deposits[0]!
}

/** The payer pays a second time, and the service learns of it as it does from the list of the bank. */
async function payAgain(w: World, emv: string): Promise<void> {
  const { pix } = await w.sandbox.pay({ emv, amountCents: 4000 })
  const payments = pix.map(({ endToEndId, txid, amountCents, horario }) => ({
    provider: 'sandbox',
    endToEndId,
    txid,
    amountCents,
    occurredAt: new Date(horario),
  }))
  await settleAll(w, payments)
}

async function runProgram(program: string, file: string, env: Env): Promise<string> {
  const child = startChild(program, [pathOf(file)], {
    env: { PATH: process.env['PATH'], PYTHONDONTWRITEBYTECODE: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [output, problems, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new Error(problems || output)
  return output
}

/** In this process: the oldest Node that we support cannot run TypeScript. */
async function runHere(name: string, env: Env): Promise<string> {
  for (const [variable, value] of Object.entries(env)) vi.stubEnv(variable, value)
  const print = vi.spyOn(console, 'log').mockReturnValue()
  try {
    const file = pathOf(`${name}.ts`)
    await import(/* @vite-ignore */ file)
    return print.mock.calls.map((values) => `${values.join(' ')}\n`).join('')
  } finally {
    vi.unstubAllEnvs()
    print.mockRestore()
    vi.resetModules()
  }
}
