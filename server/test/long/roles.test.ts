import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { query } from '../../src/db/tx.ts'
import { CHARGE_SECRET } from '../databases.ts'
import { makeOperator } from '../operators-client.ts'
import { CLI, runCli, runProcess, startServer, temporaryHome, type ServerProcess } from '../process.ts'
import { startReceiver } from '../receiver.ts'
import { until, world, type World } from '../world.ts'

/** The settings of a process. The bank runs in the first one that starts. */
function envOf(w: World, role: string) {
  return { DATABASE_URL: w.databaseUrl, GUICHE_HOME: temporaryHome(), SECRET_KEY: CHARGE_SECRET, ROLE: role }
}

async function createDeposit(server: ServerProcess, key: string): Promise<string> {
  const answer = await fetch(`${server.url}/api/deposit`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"value":5000}',
  })
  const { charge } = (await answer.json()) as { charge: { paymentLinkId: string } }
  return charge.paymentLinkId
}

test('api processes answer requests, and a worker process confirms payments and sends webhooks', async () => {
  const w = await world()
  const { key, email } = await w.account()
  const env = envOf(w, 'api')
  const api = await startServer(env)
  const receiver = await startReceiver()
  expect((await runCli(['webhooks', 'add', '--email', email, '--url', receiver.url], env)).code).toBe(0)
  const link = await createDeposit(api, key)
  expect((await runCli(['pay', link], env)).code).toBe(0)
  // The notification has arrived, and waits for a worker.
  await until('it is stored', async () => (await w.count('checks', `due_at <= clock_timestamp()`)) === 1)
  expect(await w.count('charges', `status = 'COMPLETED'`)).toBe(0)

  const worker = await startServer({ ...env, ROLE: 'worker' })
  await until('the payment is settled', async () => (await w.count('charges', `status = 'COMPLETED'`)) === 1)
  await receiver.got(2)
  const audited = await runCli(['audit'], env)
  expect([audited.stdout, audited.code]).toEqual([expect.stringContaining('Everything agrees'), 0])
  const roles = await query<{ role: string }>(
    w.pool,
    `select role from processes where role <> 'command' order by role`,
  )
  expect(roles.map(({ role }) => role)).toEqual(['api', 'worker'])
  expect([await worker.end('SIGTERM'), await api.end('SIGTERM')]).toEqual([0, 0])
})

test('a worker serves its health and its metrics, and nothing else', async () => {
  const w = await world()
  const worker = await startServer(envOf(w, 'worker'))
  const { key } = await makeOperator(w)
  const status = async (path: string, headers = {}) => (await fetch(worker.url + path, { headers })).status
  const bearer = { authorization: `Bearer ${key}` }
  expect(await Promise.all(['/livez', '/readyz', '/metrics'].map((path) => status(path, bearer)))).toEqual([
    200, 200, 200,
  ])
  expect(await status('/metrics')).toBe(401)
  expect(await Promise.all(['/', '/docs', '/api/balance', '/pay/x'].map((path) => status(path, bearer)))).toEqual([
    404, 404, 404, 404,
  ])
})

test('several processes share a port, one greets, a killed one is replaced, and all stop together', async () => {
  const w = await world()
  const { key } = await w.account()
  const server = await startServer(envOf(w, 'all'), CLI, ['--processes', '3'])
  const present = () => w.count('processes', `role = 'all' and leased_until > clock_timestamp()`)
  await until('all are there', async () => (await present()) === 3)
  expect(server.output().match(/guiche is ready/g)).toHaveLength(1)
  const links = await Promise.all(Array.from({ length: 12 }, () => createDeposit(server, key)))
  expect(new Set(links).size).toBe(12)

  const [, pid] = /"pid":(\d+).*a bank for tests/.exec(server.output())!
  process.kill(Number(pid), 'SIGKILL')
  await until('it is replaced', async () => server.output().includes(`Process ${pid} ended unexpectedly`))
  await until('a new one is there', async () => (await w.count('processes', `role = 'all'`)) === 4)
  // The bank ran in the process that was killed.
  await until('the bank is back', async () => (server.output().match(/a bank for tests/g)?.length ?? 0) === 2)
  expect(await createDeposit(server, key)).toBeTruthy()
  const code = await server.end('SIGTERM')
  const fatal = server.output().match(/.*"level":60.*/g)
  expect({ code, fatal }).toEqual({ code: 0, fatal: null })
  expect(server.output()).toMatch(/\nSIGTERM: stopping 3 processes…\n[^]*Stopped\.\n$/)
  // The killed process leaves its row behind, and the others do not.
  expect(await w.count('processes', `role = 'all'`)).toBe(1)
})

test('a frozen process gets no connection, and what its bank did not accept is closed when it is killed', async () => {
  const w = await world()
  const server = await startServer(envOf(w, 'all'), CLI, ['--processes', '2'])
  await until('both are there', async () => (await w.count('processes', `role = 'all'`)) === 2)
  const [, pid, bankUrl] = /"pid":(\d+).*a bank for tests at ([^"]+)/.exec(server.output())!
  process.kill(Number(pid), 'SIGSTOP')
  const requests = [server.url, server.url, server.url, server.url, bankUrl!].map(ask)
  await until('the other answers all', async () => requests.filter(({ text }) => text() !== '').length === 4)
  process.kill(Number(pid), 'SIGKILL')
  await Promise.all(requests.map(({ closed }) => closed))
  expect(requests.map(({ text }) => text() !== '')).toEqual([true, true, true, true, false])
})

/** Sends a request on a connection of its own. */
function ask(url: string) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ''
  socket.on('data', (chunk: Buffer) => (text += chunk.toString())).on('error', () => {})
  socket.write('GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
  onTestFinished(() => void socket.destroy())
  return { text: () => text, closed: new Promise<void>((resolve) => void socket.once('close', () => resolve())) }
}

test('several processes together answer no more requests of a key than its limit', async () => {
  const w = await world()
  const { key } = await w.account()
  const limit = { RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '20' }
  const server = await startServer({ ...envOf(w, 'api'), ...limit }, CLI, ['--processes', '3'])
  await until('all are there', async () => (await w.count('processes', `role = 'api'`)) === 3)
  const beganMs = performance.now()
  const ask = async () => {
    const answer = await fetch(`${server.url}/api/balance`, { headers: { authorization: `Bearer ${key}` } })
    await answer.text()
    return answer.status
  }
  const statuses = await Promise.all(Array.from({ length: 100 }, ask))
  const admitted = statuses.filter((status) => status === 200).length
  expect(admitted).toBeGreaterThanOrEqual(20)
  // The limit admits one request for each second that this took, and each process may have leased one more.
  expect(admitted).toBeLessThanOrEqual(20 + Math.ceil((performance.now() - beganMs) / 1000) + 3)
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  expect(await w.count('shared_limits', `name like 'key:%'`)).toBe(1)
})

test('several processes that cannot start say why once', async () => {
  const env = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none', GUICHE_HOME: temporaryHome() }
  const refused = await runProcess(['start', '--processes', '3'], env)
  expect([refused.code, refused.stderr]).toEqual([
    1,
    'guiche: The database at DATABASE_URL cannot be reached: connect ECONNREFUSED 127.0.0.1:1\n',
  ])
})

test('a role that does not exist is refused with those that do', async () => {
  const refused = await runCli(['start', '--role', 'both'], {})
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('Allowed choices are all, api, worker.')])
})
