import { existsSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { startSandbox, type StartOptions } from '../src/sandbox/start-sandbox.ts'
import { clientOf, KEY, receiver } from './sandbox-client.ts'

// The bank as others have it in their tests: `@guiche/sandbox`.

const START = new Date('2026-03-10T12:00:00.000Z')

async function start(options: StartOptions = {}) {
  const bank = await startSandbox({ clock: () => START, ...options })
  onTestFinished(bank.close)
  return { bank, ...(await clientOf(bank.url)) }
}

test('time that a test puts forward expires charges, and tokens too', async () => {
  const { bank, charge, call } = await start()
  const first = await charge({ calendario: { expiracao: 3600 } })
  const { txid } = await charge({ calendario: { expiracao: 3601 } })
  await bank.advance('1h')
  await expect(bank.pay({ emv: first.pixCopiaECola })).rejects.toThrow('The charge is expired')
  const [payment] = await bank.pay({ txid })
  expect(payment).toMatchObject({ txid, amountCents: 50_00, horario: '2026-03-10T13:00:00.000Z' })
  expect(bank.payments()).toEqual([payment])
  expect((await call('GET', `/cob/${txid}`)).status).toBe(401)
  const again = await clientOf(bank.url)
  expect((await again.call('GET', `/cob/${txid}`)).body).toMatchObject({ status: 'CONCLUIDA', pix: [{ txid }] })
})

test('a refund settles when the bank’s time has come, and the receiver is told before advance returns', async () => {
  const { bank, charge, call } = await start()
  const { url, bodies } = await receiver()
  await call('PUT', `/webhook/${KEY}`, { webhookUrl: url })
  const [{ endToEndId } = { endToEndId: '' }] = await bank.pay(await charge().then(({ txid }) => ({ txid })))
  await bank.advance(0)
  expect(bodies.map(({ pix }) => pix.length)).toEqual([1])
  await call('PUT', `/pix/${endToEndId}/devolucao/R1`, { valor: '1.00' })
  await bank.advance(199)
  expect(bodies).toHaveLength(1)
  await bank.advance(1)
  expect(bodies[1]).toMatchObject({ pix: [{ endToEndId, devolucoes: [{ id: 'R1', status: 'DEVOLVIDO' }] }] })
})

test('a Pix that the bank returns by itself is frozen first, and the receiver is told of the return alone', async () => {
  const { bank, charge, call } = await start()
  const { url, bodies } = await receiver()
  await call('PUT', `/webhook/${KEY}`, { webhookUrl: url })
  const [{ endToEndId } = { endToEndId: '' }] = await bank.pay(await charge().then(({ txid }) => ({ txid })))
  await bank.advance(0)
  await bank.reverse({ endToEndId, freezeSeconds: 60 })
  await bank.advance('60s')
  expect(bodies).toHaveLength(1)
  await bank.advance('1s')
  expect(bodies[1]).toMatchObject({ pix: [{ devolucoes: [{ natureza: 'MED_FRAUDE', valor: '50.00' }] }] })
  await expect(bank.reverse({ endToEndId, amountCents: 1 })).rejects.toThrow('0 cents are left to return')
})

test('notifications that are late or were refused go out within the time that a test puts forward', async () => {
  const { bank, charge, call } = await start()
  // The third try comes after 0.25 s and 0.5 s.
  const { url, heard } = await receiver((count) => (count < 3 ? 500 : 200))
  await call('PUT', `/webhook/${KEY}`, { webhookUrl: url })
  bank.fault({ delayNotificationsMs: 60_000, duplicateNotifications: 1 })
  await bank.pay({ txid: (await charge()).txid })
  await bank.advance('59s')
  expect(heard()).toEqual([])
  await bank.advance('1s')
  expect(heard()).toHaveLength(2)
  bank.fault({})
  await bank.advance('1min')
  expect(heard()).toHaveLength(4)
  expect(new Set(heard()).size).toBe(1)
})

test('it behaves as the bank that it is told to be, and says which banks it knows', async () => {
  const bank = await startSandbox({ as: 'itau' })
  onTestFinished(bank.close)
  expect(bank.customer).toMatchObject({ url: expect.stringMatching(/^https:.*\/pix_recebimentos\/v2$/) })
  expect(existsSync(bank.customer!.files.cert)).toBe(true)
  const answer = await fetch(`${bank.url}/pix_recebimentos/v2/cob`)
  expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('token')])
  expect([...(await bank.pay({ txid: 'unknown', amountCents: 1 })), ...bank.payments()]).toHaveLength(2)
  await expect(startSandbox({ as: 'nubank' as 'itau' })).rejects.toThrow('As must be one of efi, inter')
})

test('what a payer could not do is refused in words, and so are unknown faults and durations', async () => {
  const { bank } = await start()
  await expect(bank.pay({ emv: 'nonsense' })).rejects.toThrow('The emv is not a BR Code')
  expect(() => bank.fault({ dropNotification: true } as object)).toThrow('dropNotification')
  await expect(bank.advance('2 weeks' as '2d')).rejects.toThrow('such as 90s')
  await expect(bank.advance(-1)).rejects.toThrow('A duration is milliseconds')
})

test('a bank that is closed leaves nothing behind, nor does one that could not start', async () => {
  const homes = () => readdirSync(tmpdir()).filter((name) => name.startsWith('guiche-sandbox-'))
  const before = homes()
  const { bank } = await start()
  const port = Number(new URL(bank.url).port)
  await expect(startSandbox({ port })).rejects.toThrow(`Port ${port} is in use`)
  await bank.close()
  expect(homes()).toEqual(before)
  await expect(fetch(bank.url)).rejects.toThrow('fetch failed')
})
