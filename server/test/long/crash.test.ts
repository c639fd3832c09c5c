import { expect, test } from 'vitest'
import { startServer, temporaryHome, type ServerProcess } from '../process.ts'
import { until, world } from '../world.ts'

// The bank makes the charge and its answer never arrives. So the process is certainly killed between the provider's
// answer and its own.
test('kill -9 between the provider’s answer and ours, then the same request again: one charge', async () => {
  const w = await world()
  const { key } = await w.account()
  const env = { DATABASE_URL: w.databaseUrl, PROVIDER_SANDBOX_URL: w.sandbox.url, GUICHE_HOME: temporaryHome() }
  const post = (server: ServerProcess) =>
    fetch(`${server.url}/api/deposit`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'order-1' },
      body: '{"value":5000}',
    })

  const first = await startServer(env)
  await w.sandbox.faults({ loseAnswerRate: 1, seed: 1 })
  const lost = post(first).catch((error: unknown) => error)
  await until('the bank has made the charge', async () => (await w.sandbox.stats()).calls['PUT /cob/:txid'] === 1)
  expect(await first.end('SIGKILL')).toBe('SIGKILL')
  expect(await lost).toBeInstanceOf(Error)
  await w.sandbox.faults({})

  const second = await startServer(env)
  // The answer is 409 with Retry-After until the lease of the killed process ends.
  const answer = await until('the request is continued', async () => {
    const asked = await post(second)
    return asked.status !== 409 && asked
  })
  expect(answer.status).toBe(201)
  const { charge } = (await answer.json()) as { charge: { id: string; emv: string } }
  expect(await w.count('charges')).toBe(1)
  expect((await w.sandbox.pay({ emv: charge.emv })).pix).toMatchObject([{ txid: charge.id }])

  const again = await post(second)
  expect(again.headers.get('idempotency-replayed')).toBe('true')
  expect(await again.json()).toEqual({ success: true, charge })
  expect(await second.end('SIGTERM')).toBe(0)
})

test('a deposit that is under way at SIGTERM is answered, also when the bank is slow', async () => {
  const w = await world()
  const { key } = await w.account()
  const server = await startServer({
    DATABASE_URL: w.databaseUrl,
    PROVIDER_SANDBOX_URL: w.sandbox.url,
    GUICHE_HOME: temporaryHome(),
  })
  // The answer is lost for 4 seconds, and then the charge is looked up.
  await w.sandbox.faults({ loseAnswerRate: 1, seed: 1 })
  const answer = fetch(`${server.url}/api/deposit`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"value":5000}',
  })
  await until('the bank has made the charge', async () => (await w.sandbox.stats()).calls['PUT /cob/:txid'] === 1)
  await w.sandbox.faults({ latencyMs: 1_500 })
  const ended = server.end('SIGTERM')
  expect((await answer).status).toBe(201)
  expect(await ended).toBe(0)
})
