import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openDeposit, type DepositRequest } from '../../src/domain/deposits/open-deposit.ts'
import { ProviderError, type Provider } from '../../src/domain/ports/provider.ts'
import { checkDue } from '../../src/workers/check.ts'
import { startChild } from '../process.ts'
import { world, type World } from '../world.ts'

// Runs the short form of prove/money.mjs, and tests by name what its long form has found.

const MONEY = fileURLToPath(new URL('../../../prove/money.mjs', import.meta.url))
const BREAKS = fileURLToPath(new URL('../../../prove/broken.mjs', import.meta.url))
const DIST = fileURLToPath(new URL('../../dist', import.meta.url))

test('no centavo is lost, doubled or made up while the bank errs and the service is killed', async () => {
  const { code, output } = await prove(MONEY, [
    '--seed',
    '5',
    '--plans',
    'drop,errors',
    '--scenarios',
    '9',
    '--kills',
    '1',
  ])
  expect(output).not.toContain('NOT HELD')
  expect(output.match(/^held /gm)?.length).toBeGreaterThanOrEqual(15)
  expect(code).toBe(0)
})

test('every mistake that the proofs must notice can still be made in the build', async () => {
  const { code, output } = await prove(BREAKS, ['--check'])
  expect([output, code]).toEqual(['', 0])
})

test('a request that is repeated and does not get through does not give up the charge that the first one may have made', async () => {
  const w = await world()
  const { caller } = await w.account()
  const real = w.ctx.providers[0]!
  replaceFirst(w, { create: made(real, 'unknown') })
  await expect(openDeposit(w.ctx, caller, request, 'order-1')).rejects.toMatchObject({ code: 'provider_unavailable' })
  for (const outcome of ['unreachable', 'refused'] as const) {
    replaceFirst(w, { create: () => Promise.reject(new ProviderError(outcome, 'breaker open')) })
    await expect(openDeposit(w.ctx, caller, request, 'order-1')).rejects.toMatchObject({ code: 'provider_unavailable' })
  }
  expect(await w.count('charges', `status = 'OPENING'`)).toBe(1)

  replaceFirst(w, real)
  const { charge } = await openDeposit(w.ctx, caller, request, 'order-1')
  expect(await w.count('charges')).toBe(1)
  expect((await w.sandbox.pay({ emv: charge.emv })).pix).toMatchObject([{ txid: charge.id }])
})

test('a repeated request goes to the second provider only after the first one’s charge was withdrawn', async () => {
  const w = await world({ second: true })
  const { caller } = await w.account()
  const real = w.ctx.providers[0]!
  const doubt = () => Promise.reject(new ProviderError('unknown', 'no answer'))
  replaceFirst(w, { create: made(real, 'unknown'), cancel: doubt })
  await expect(openDeposit(w.ctx, caller, request, 'order-1')).rejects.toMatchObject({ code: 'provider_unavailable' })

  replaceFirst(w, {
    create: () => Promise.reject(new ProviderError('unreachable', 'breaker open')),
    cancel: real.cancel,
  })
  const { charge } = await openDeposit(w.ctx, caller, request, 'order-1')
  expect(charge.provider).toBe('second')
  await expect(w.sandbox.pay({ txid: charge.id })).rejects.toThrow(/409/)
})

test('a charge that is made at a second attempt ends at the bank when it ends in the books', async () => {
  const w = await world()
  const { caller } = await w.account()
  const real = w.ctx.providers[0]!
  replaceFirst(w, { create: () => Promise.reject(new ProviderError('unknown', 'no answer')) })
  await openDeposit(w.ctx, caller, request, 'order-1').catch(() => {})
  replaceFirst(w, real)
  w.clock.advance(600_000)
  const { charge } = await openDeposit(w.ctx, caller, request, 'order-1')
  expect(await real.check(charge.id)).toMatchObject({ expiresAt: charge.expiresAt })
})

test('an opening whose time is over is not handed out: it is withdrawn, and the key opens a new one', async () => {
  const w = await world()
  const { caller } = await w.account()
  const real = w.ctx.providers[0]!
  const lost = () => Promise.reject(new ProviderError('unknown', 'no answer'))
  replaceFirst(w, { create: made(real, 'unknown'), cancel: lost })
  await openDeposit(w.ctx, caller, request, 'order-1').catch(() => {})
  w.clock.advance(3_600_000)
  // The worker fails to withdraw the charge, and would wait before it tries again.
  await checkDue(w.ctx)
  replaceFirst(w, real)
  await expect(openDeposit(w.ctx, caller, request, 'order-1')).rejects.toMatchObject({ code: 'in_flight' })

  await checkDue(w.ctx)
  const { charge } = await openDeposit(w.ctx, caller, request, 'order-1')
  expect(charge.expiresAt).toEqual(new Date(w.clock.now().getTime() + 3_600_000))
  expect(await w.count('charges', `status = 'FAILED'`)).toBe(1)
  expect((await w.sandbox.pay({ emv: charge.emv })).pix).toMatchObject([{ txid: charge.id }])
})

const request: DepositRequest = { valueCents: 50_00, externalId: null, description: null, expiresInSeconds: null }

function replaceFirst(w: World, part: Partial<Provider>): void {
  w.ctx.providers[0] = { ...w.ctx.providers[0]!, ...part }
}

/** The bank makes the charge, and nobody learns of it. */
function made(real: Provider, outcome: ProviderError['outcome']): Provider['create'] {
  return async (wanted) => {
    await real.create(wanted)
    throw new ProviderError(outcome, 'the answer was lost')
  }
}

async function prove(proof: string, args: string[]): Promise<{ code: number; output: string }> {
  const child = startChild(process.execPath, [proof, ...args, '--dist', DIST], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}
