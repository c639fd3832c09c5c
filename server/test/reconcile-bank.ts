import { Pool } from 'undici'
import { onTestFinished } from 'vitest'
import { encodeBrCode } from '../src/base/brcode.ts'
import { newUuid7 } from '../src/base/ids.ts'
import { query, transact } from '../src/db/tx.ts'
import { markPending } from '../src/domain/deposits/charge-states.ts'
import { insertIntents, type NewCharge } from '../src/domain/deposits/intents.ts'
import type { Provider } from '../src/domain/ports/provider.ts'
import { makeWindowSize } from '../src/domain/reconciliation/compare.ts'
import { API_PIX_TIMINGS, makeApiPix, type ApiPixTimings } from '../src/providers/api-pix/adapter.ts'
import { reconcileDue } from '../src/workers/reconcile.ts'
import type { TestAccount, World } from './world.ts'

const VALUE_CENTS = 50_00
const FEE_CENTS = 50
const CHUNK = 1_000
const PAYERS = 64

/** Inserts PENDING charges of R$ 50,00 without asking the bank: it takes money for a txid that it does not know. */
export async function makeCharges(w: World, account: TestAccount, count: number): Promise<string[]> {
  const now = w.clock.now()
  const charges = Array.from({ length: count }, () =>
    newCharge(w, { accountId: account.accountId, valueCents: VALUE_CENTS, feeCents: FEE_CENTS }),
  )
  for (let start = 0; start < count; start += CHUNK) {
    const chunk = charges.slice(start, start + CHUNK)
    await transact(w.pool, async (tx) => {
      await insertIntents(
        tx,
        now,
        chunk.map((charge) => ({ charge, idempotency: null })),
      )
      await markPending(
        tx,
        w.ctx.instance,
        chunk.map(({ id }) => ({ chargeId: id, provider: 'sandbox', emv: codeFor(id, VALUE_CENTS), hasKey: false })),
      )
    })
  }
  return charges.map(({ id }) => id)
}

/** A charge with a valid id, as openDeposit() makes it. */
export function newCharge(
  w: World,
  { valueCents, ...rest }: { accountId: string; valueCents: number; feeCents: number },
): NewCharge {
  const createdAt = w.clock.now()
  const facts = {
    ...rest,
    paymentLinkId: newUuid7(createdAt),
    externalId: null,
    description: null,
    originalValueCents: valueCents,
    valueCents,
    expiresAt: new Date(createdAt.getTime() + 3_600_000),
  }
  const id = w.ctx.settings.chargeSeal.newId(createdAt, facts)
  return { ...facts, id, provider: 'sandbox', createdAt, openingInstance: w.ctx.instance }
}

/** A code of the right shape, which the bank does not know. */
export function codeFor(chargeId: string, amountCents: number): string {
  return encodeBrCode({ location: `localhost/${chargeId}`, merchantName: 'Loja', merchantCity: 'Recife', amountCents })
}

/** Pays each charge once. Nobody is notified: the bank has no address of ours. */
export async function payAll(w: World, txids: string[], options: { everyMs?: number } = {}): Promise<void> {
  // This uses sockets directly: ten thousand calls of fetch() take longer than what is tested.
  const bank = new Pool(w.sandbox.url, { connections: 8, pipelining: 8 })
  const pay = async (txid: string) => {
    const body = JSON.stringify({ txid, amountCents: VALUE_CENTS })
    const headers = { 'content-type': 'application/json' }
    const answer = await bank.request({ method: 'POST', path: '/bank/pay', headers, body })
    await answer.body.dump()
    if (answer.statusCode !== 201) throw new Error(`the bank answered ${answer.statusCode}`)
  }
  const queue = [...txids]
  const payer = async () => {
    for (let txid = queue.pop(); txid; txid = queue.pop()) {
      await pay(txid)
      w.clock.advance(options.everyMs ?? 0)
    }
  }
  await Promise.all(Array.from({ length: options.everyMs ? 1 : PAYERS }, payer))
  await bank.close()
}

/** A provider that reads the sandbox in pages of `pageSize` payments. */
export function smallPages(w: World, pageSize: number, timings: Partial<ApiPixTimings> = {}): Provider {
  const provider = makeApiPix({
    name: 'sandbox',
    url: w.sandbox.url,
    tokenUrl: `${w.sandbox.url}/oauth/token`,
    clientId: 'sandbox',
    clientSecret: 'sandbox',
    pixKey: 'sandbox@guiche.example',
    callsPerSecond: 0,
    now: w.clock.now,
    log: w.ctx.log,
    timings: { ...API_PIX_TIMINGS, pageSize, ...timings },
  })
  onTestFinished(() => provider.close())
  return provider
}

/** Runs rounds of the worker until there is nothing to catch up with. */
export async function sweepAll(w: World, provider: Provider = w.ctx.providers[0]!): Promise<void> {
  const sweeping = { windowSize: makeWindowSize() }
  while ((await reconcileDue(w.ctx, provider, sweeping)) === 'more');
}

export async function sweptUntil(w: World): Promise<Date | undefined> {
  const [row] = await query<{ swept_until: Date }>(w.pool, 'select swept_until from sweeps')
  return row?.swept_until
}
