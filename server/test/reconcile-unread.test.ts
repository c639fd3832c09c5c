import { expect, test } from 'vitest'
import { audit } from '../src/domain/audit/audit.ts'
import { listClosings } from '../src/domain/reconciliation/closings.ts'
import { reconcileWindow } from '../src/domain/reconciliation/reconcile.ts'
import { makeApiPix } from '../src/providers/api-pix/adapter.ts'
import { checkDue } from '../src/workers/check.ts'
import { makeCharges, sweepAll, sweptUntil } from './reconcile-bank.ts'
import { OPERATOR } from './refund-steps.ts'
import { closeAfterTest, openScriptedPsp } from './scripted-psp.ts'
import { world } from './world.ts'

const HOUR_MS = 3_600_000
const DAY = { from: new Date('2026-03-02T03:00:00Z'), to: new Date('2026-03-03T03:00:00Z') }
const e2e = (name: string) => `E12345678202603021200${name.padEnd(11, '0')}`

type Pix = Record<string, unknown>

/** A bank that lists the entries that the test puts into `list`. It filters them by `at`. */
async function bankWith(list: Pix[]) {
  const w = await world()
  const psp = await openScriptedPsp(({ path }) => {
    const url = new URL(path, 'http://bank')
    if (url.pathname === '/pix') {
      const [from, to] = [url.searchParams.get('inicio')!, url.searchParams.get('fim')!]
      const isAsked = ({ horario, at = horario }: Pix) => String(at) >= from && String(at) <= to
      const paginacao = { paginaAtual: 0, quantidadeDePaginas: 1, quantidadeTotalDeItens: list.length }
      return { status: 200, json: { parametros: { paginacao }, pix: list.filter(isAsked) } }
    }
    const found = list.find(({ endToEndId }) => url.pathname === `/pix/${String(endToEndId)}`)
    return found ? { status: 200, json: found } : { status: 404, json: { title: 'Não encontrado.' } }
  })
  const provider = makeApiPix({
    name: 'sandbox',
    url: psp.url,
    tokenUrl: psp.tokenUrl,
    clientId: 'sandbox',
    clientSecret: 'sandbox',
    pixKey: 'sandbox@guiche.example',
    callsPerSecond: 0,
    now: w.clock.now,
    log: w.ctx.log,
    metrics: w.ctx.metrics,
    timings: { breakerFailures: 3 },
  })
  closeAfterTest(() => psp.stop())
  closeAfterTest(() => provider.close())
  w.ctx.providers[0] = provider
  return { w, provider, psp }
}

test('entries of a bank’s list that cannot be read are named, and everything else is booked and goes on', async () => {
  const list: Pix[] = []
  const { w, provider } = await bankWith(list)
  const account = await w.account()
  const [first, last] = await makeCharges(w, account, 2)
  const horario = '2026-03-02T12:00:30.000Z'
  const pix = (name: string, changes: Pix = {}) => ({ endToEndId: e2e(name), valor: '50.00', horario, ...changes })
  const noAmount = pix('noamount', { valor: undefined })
  list.push(
    pix('first', { txid: first }),
    pix('internal', { endToEndId: 'E1234567820260302120000000' }),
    pix('nul', { txid: 'a\u{0}b' }),
    pix('long', { txid: 'x'.repeat(40) }),
    noAmount,
    pix('last', { txid: last }),
  )
  w.clock.advance(HOUR_MS)
  await sweepAll(w)

  expect(await w.balanceCents(account.accountId)).toBe(2 * 49_50)
  expect(await w.count('exceptions', `kind = 'unknown_charge'`)).toBe(2)
  expect(await w.count('payments', `end_to_end_id in ('${e2e('nul')}', '${e2e('long')}') and txid is null`)).toBe(2)
  expect(await sweptUntil(w)).toEqual(w.clock.now())
  expect(provider.health().breaker).toBe('closed')
  expect(await w.ctx.metrics.unread.get()).toMatchObject({ values: [{ value: 2, labels: { provider: 'sandbox' } }] })
  // The entry with an id is checked until it can be read, and the bank is not at fault for it.
  const asked = async () => (await w.count('checks', `subject = '${e2e('noamount')}'`)) === 1
  for (let round = 0; round < 8; round++) {
    expect(await asked()).toBe(true)
    await checkDue(w.ctx)
    w.clock.advance(10 * 60_000)
  }
  expect(provider.health().breaker).toBe('closed')

  const unreadable = [
    expect.stringMatching(new RegExp(`^${e2e('noamount')} may be money of sandbox, and cannot be read .*valor`)),
    expect.stringMatching(/^without an endToEndId may be money .*\(its id is E1234567820260302120000000\)/),
  ]
  const name = ({ endToEndId, text }: { endToEndId: string; text: string }) => `${endToEndId} ${text}`
  w.clock.advance(24 * HOUR_MS)
  await sweepAll(w)
  const [closing] = await listClosings(w.ctx, { limit: 1 })
  expect(closing).toMatchObject({ day: '2026-03-02', providerCount: 4, ledgerCount: 4, differenceCount: 2 })
  expect(closing!.differences.map(name).toSorted()).toEqual(unreadable)
  const { comparisons } = await reconcileWindow(w.ctx, OPERATOR, DAY)
  expect(comparisons[0]!.differences.map(name).toSorted()).toEqual(unreadable)
  const { differences } = await audit(w.ctx)
  expect(differences.map(({ subject, text }) => `${subject.replace('payment ', '')} ${text}`).toSorted()).toEqual(
    unreadable,
  )

  noAmount['valor'] = '7.00'
  w.clock.advance(10 * 60_000)
  await checkDue(w.ctx)
  expect(await w.count('payments', `end_to_end_id = '${e2e('noamount')}' and amount_cents = 700`)).toBe(1)
})

test('a list of which the most part cannot be read keeps the cursor, until an adapter knows its new form', async () => {
  const list: Pix[] = []
  const { w } = await bankWith(list)
  await makeCharges(w, await w.account(), 1)
  const began = w.clock.now()
  const horario = '2026-03-02T12:00:30.000Z'
  for (let n = 0; n < 101; n++) list.push({ endToEndId: e2e(`n${n}x`), valor: '50,00', horario })
  w.clock.advance(HOUR_MS)
  await sweepAll(w)
  expect(await sweptUntil(w)).toEqual(began)
  // Once as many entries can be read, the list counts as one that we know.
  for (let n = 0; n < 101; n++) list.push({ endToEndId: e2e(`m${n}x`), valor: '50.00', horario })
  w.clock.advance(HOUR_MS)
  await sweepAll(w)
  expect(await sweptUntil(w)).toEqual(w.clock.now())
  expect(await w.count('payments')).toBe(101)
})

test('a Pix that the bank dates outside the window it lists it for is booked, counted by its date, and named', async () => {
  const list: Pix[] = []
  const { w } = await bankWith(list)
  const account = await w.account()
  const [txid, next] = await makeCharges(w, account, 2)
  // This is local time, although its "Z" says otherwise.
  const pix = { endToEndId: e2e('local'), txid, valor: '50.00', horario: '2026-03-02T09:00:30Z' }
  list.push({ ...pix, at: '2026-03-02T12:00:30Z' })
  w.clock.advance(HOUR_MS)
  await sweepAll(w)
  expect(await w.balanceCents(account.accountId)).toBe(49_50)
  const fields = expect.objectContaining({ count: 1, endToEndIds: [pix.endToEndId] })
  expect(w.logged).toContainEqual(expect.objectContaining({ level: 'warn', fields }))

  const other = { ...pix, endToEndId: e2e('later'), txid: next, horario: '2026-03-02T10:00:30Z' }
  list.push({ ...other, at: '2026-03-02T13:00:30Z' })
  const { differences: unbooked } = await audit(w.ctx)
  expect(unbooked.map(({ subject }) => subject)).toContain(`payment ${other.endToEndId}`)
  w.clock.advance(24 * HOUR_MS)
  await sweepAll(w)
  const named = [{ kind: 'outside_window', endToEndId: pix.endToEndId, text: expect.stringContaining(e2e('later')) }]
  expect(await listClosings(w.ctx, { limit: 1 })).toMatchObject([{ differenceCount: 1, differences: named }])
  const { comparisons } = await reconcileWindow(w.ctx, OPERATOR, DAY)
  expect(comparisons).toMatchObject([{ providerCount: 2, ledgerCount: 2, differenceCount: 1, differences: named }])
})

test('a refund that cannot be read is named by log, closing and audit, and the others of its payment are booked', async () => {
  const list: Pix[] = []
  const { w } = await bankWith(list)
  const [txid] = await makeCharges(w, await w.account(), 1)
  const pix: Pix = { endToEndId: e2e('back'), txid, valor: '50.00', horario: '2026-03-02T12:00:30Z' }
  list.push(pix)
  w.clock.advance(60_000)
  await sweepAll(w)
  const good = { id: 'good', rtrId: 'D1', valor: '5.00', status: 'DEVOLVIDO', horario: {} }
  pix.devolucoes = [good, { ...good, id: 'odd', valor: '7.00', status: 'DEVOLVIDA_EM_PARTE' }]
  w.clock.advance(60_000)
  await sweepAll(w)
  expect(await w.count('refunds', `provider_refund_id = 'good' and amount_cents = 500 and status = 'DONE'`)).toBe(1)
  expect(await w.count('refunds')).toBe(1)
  const fields = { endToEndId: e2e('back'), text: expect.stringContaining('its refund odd ') }
  expect(w.logged).toContainEqual(expect.objectContaining({ level: 'error', fields: expect.objectContaining(fields) }))

  // A refund in our books that cannot be read at the bank does not count as missing there.
  pix.devolucoes = [
    { ...good, status: 'DEVOLVIDA_EM_PARTE' },
    { ...good, id: 'odd', valor: '7,00' },
  ]
  w.clock.advance(24 * HOUR_MS)
  await sweepAll(w)
  const named = ['good', 'odd'].map((id) => ({
    kind: 'unread',
    endToEndId: e2e('back'),
    text: expect.stringMatching(new RegExp(`a refund of it \\(${id}\\) that cannot be read .*API Pix`)),
  }))
  const [closing] = await listClosings(w.ctx, { limit: 1 })
  expect(closing).toMatchObject({ day: '2026-03-02', differences: named })
  const told = (await audit(w.ctx)).differences.map(({ subject, text }) => `${subject} ${text}`)
  for (const id of ['good', 'odd'])
    expect(told.join()).toContain(`payment ${e2e('back')} sandbox lists a refund of it (${id})`)
})
