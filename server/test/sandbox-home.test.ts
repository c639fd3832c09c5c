import { appendFile, copyFile, mkdir, open as openFile, readFile, writeFile } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { findRunning } from '../src/sandbox/address.ts'
import { CLI, runProcess, startChild, temporaryHome } from './process.ts'
import { KEY, bank, clientOf, eventually, newHome, open, portOf, send } from './sandbox-client.ts'

const ANY_TIME = 'inicio=2000-01-01T00:00:00Z&fim=2100-01-01T00:00:00Z'

const journalOf = (home: string) => join(home, 'journal.jsonl')

// Everything that a client can see: the charges, the payments and the webhook.
async function everything(url: string) {
  const { call } = await clientOf(url)
  const read = async (path: string) => (await call('GET', path)).body
  return [await read(`/cob?${ANY_TIME}`), await read(`/pix?${ANY_TIME}`), await read(`/webhook/${KEY}`)]
}

async function busyBank() {
  const world = await bank()
  const { call, charge, pay, faults, clock } = world
  await faults({ dropNotifications: true })
  await call('PUT', `/webhook/${KEY}`, { webhookUrl: 'http://127.0.0.1:1' })
  await call('PUT', '/webhook/gone', { webhookUrl: 'http://127.0.0.1:1' })
  await call('DELETE', '/webhook/gone')
  await charge()
  const removed = await charge()
  await call('PATCH', `/cob/${removed.txid}`, { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' })
  const paid = await charge()
  const { body } = await pay({ txid: paid.txid, times: 2 })
  await pay({ txid: 'unknown', amountCents: 1 })
  const refund = `/pix/${body.pix[0].endToEndId}/devolucao/r1`
  await call('PUT', refund, { valor: '1.00' })
  clock.at = new Date(clock.at.getTime() + 200)
  expect((await call('GET', refund)).body.status).toBe('DEVOLVIDO')
  return world
}

// A sandbox on a copy of the journal as it is on disk at this moment: what a killed process would have left.
async function afterKill(home: string) {
  const copy = await newHome()
  await mkdir(copy, { recursive: true })
  await copyFile(journalOf(home), journalOf(copy))
  return { copy, sandbox: () => open({ home: copy }) }
}

describe('a restart', () => {
  test('keeps the port, the charges, the payments, the refunds and the webhooks', async () => {
    const { home, url, sandbox } = await busyBank()
    const before = await everything(url)
    await sandbox.stop()
    const again = await open({ home })
    expect(again.url).toBe(url)
    expect(await everything(again.url)).toEqual(before)
  })

  test('forgets tokens and faults', async () => {
    const { home, sandbox, token, faults, charge } = await bank()
    const { txid } = await charge()
    await faults({ errorRate: 1 })
    await sandbox.stop()
    const again = await open({ home })
    expect((await send(`${again.url}/cob/${txid}`, { method: 'GET', token })).status).toBe(401)
    expect((await (await clientOf(again.url)).call('GET', `/cob/${txid}`)).status).toBe(200)
  })

  test('finishes a refund that was under way', async () => {
    const { home, sandbox, call, charge, pay, clock } = await bank()
    const { body } = await pay({ txid: (await charge()).txid })
    const refund = `/pix/${body.pix[0].endToEndId}/devolucao/r1`
    await call('PUT', refund, { valor: '1.00' })
    await sandbox.stop()
    const later = new Date(clock.at.getTime() + 200)
    const client = await clientOf((await open({ home, now: () => later })).url)
    expect((await client.call('GET', refund)).body.status).toBe('DEVOLVIDO')
  })
})

describe('the journal', () => {
  test('holds a charge and a payment at the moment they are answered', async () => {
    const { home, charge, pay } = await bank()
    for (let i = 0; i < 10; i++) {
      const { txid } = await charge()
      expect(await readFile(journalOf(home), 'utf8')).toContain(txid)
      const { body } = await pay({ txid })
      expect(await readFile(journalOf(home), 'utf8')).toContain(body.pix[0].endToEndId)
    }
  })

  test('is on disk before anybody is told of what it holds, by an answer, a query or a list', async () => {
    const { call, charge, pay } = await bank()
    const { txid } = await charge()
    const disk = await holdSyncs()
    const answers: string[] = []
    const note = (name: string, asked: Promise<unknown>) => asked.then(() => answers.push(name))
    const paying = note('paid', pay({ txid }))
    await eventually(() => disk.held() > 0)
    const asking = [note('charge', call('GET', `/cob/${txid}`)), note('list', call('GET', `/pix?${ANY_TIME}`))]
    const other = await call('GET', `/cob/${'x'.repeat(30)}`)
    expect(other.status).toBe(404)
    expect(answers).toEqual([])
    disk.release()
    await Promise.all([paying, ...asking])
    expect(answers).toHaveLength(3)
  })

  test('that cannot be written makes no promise: 500, also for what was not written', async () => {
    const { call, charge, pay } = await bank()
    const safe = await charge()
    const { txid } = await charge()
    const disk = await holdSyncs()
    const paying = pay({ txid })
    await eventually(() => disk.held() > 0)
    disk.fail()
    expect((await paying).status).toBe(500)
    expect((await call('GET', `/cob/${txid}`)).status).toBe(500)
    expect((await pay({ txid: safe.txid })).status).toBe(500)
  })

  test('makes the same bank again after a kill', async () => {
    const { home, url } = await busyBank()
    const { sandbox } = await afterKill(home)
    const [cobs, pix, webhook] = await everything(url)
    expect(await everything((await sandbox()).url)).toEqual([cobs, pix, webhook])
  })

  test.each([
    ['half a line', '{"kind":"charge","cob":{"txid":"tor'],
    ['a whole line without its end', '{"kind":"unhook","chave":"x"}'],
    ['bytes that are no text', '\u0000\u0000\ufffd'],
  ])('with %s at its end is cut there and goes on', async (_, torn) => {
    const { home, url, charge } = await bank()
    await charge()
    const { copy, sandbox } = await afterKill(home)
    const whole = await readFile(journalOf(copy), 'utf8')
    await appendFile(journalOf(copy), torn)
    const again = await clientOf((await sandbox()).url)
    expect(await readFile(journalOf(copy), 'utf8')).toBe(whole)
    expect(await everything(again.url)).toEqual(await everything(url))
    const { txid } = await again.charge()
    const { sandbox: third } = await afterKill(copy)
    expect((await (await clientOf((await third()).url)).call('GET', `/cob/${txid}`)).status).toBe(200)
  })

  test('that is damaged in the middle is refused, and the port is given back', async () => {
    const { home, sandbox, charge } = await bank()
    await charge()
    const { port } = sandbox
    await sandbox.stop()
    await writeFile(journalOf(home), `not JSON\n${await readFile(journalOf(home), 'utf8')}`)
    await expect(open({ home })).rejects.toThrow('damaged at line 1')
    const other = createServer().listen(port, '127.0.0.1')
    await new Promise((done) => other.once('listening', done))
    other.close()
  })
})

describe('one home', () => {
  test('opened twice has one sandbox: the second process uses that of the first, and ends without it', async () => {
    const { home, url, sandbox, charge } = await bank()
    const lines: string[] = []
    const second = await open({ home, say: (line) => lines.push(line) })
    expect(second).toMatchObject({ url, port: sandbox.port, pid: process.pid })
    expect(lines.join()).toContain(`in process ${process.pid} at ${url}`)
    const { txid } = await charge()
    expect((await (await clientOf(second.url)).call('GET', `/cob/${txid}`)).status).toBe(200)
    await second.stop()
    expect(await findRunning(home)).toMatchObject({ port: sandbox.port })
    expect((await charge()).txid).toBeDefined()
  })

  test.each([0, 'given'])('opened by many for the first time at once, on port %s, has one sandbox', async (wanted) => {
    const home = await newHome()
    const port = wanted === 0 ? 0 : await freePort()
    const said: string[] = []
    const opened = await Promise.all(
      Array.from({ length: 6 }, () => open({ home, port, say: (line) => said.push(line) })),
    )
    expect(new Set(opened.map(({ url }) => url)).size).toBe(1)
    expect(said.filter((line) => line.includes('a bank for tests'))).toHaveLength(1)
    if (port !== 0) expect(opened[0]?.port).toBe(port)
  })

  test('whose owner ended has no bank until an owner starts again, at the same address, with all that it held', async () => {
    const { home, url, sandbox } = await busyBank()
    const second = await open({ home })
    const before = await everything(url)
    await sandbox.stop()
    expect(await findRunning(home)).toBeUndefined()
    await expect(send(`${second.url}/bank/stats`, { method: 'GET' })).rejects.toThrow('fetch failed')
    await open({ home })
    expect(await everything(second.url)).toEqual(before)
  })

  test('whose owner was killed is free at once, and keeps its port and what it held', async () => {
    const guiche = temporaryHome()
    const home = join(guiche, 'sandbox')
    const child = startChild(process.execPath, [CLI, 'sandbox'], {
      env: { PATH: process.env['PATH'], GUICHE_HOME: guiche },
      stdio: 'ignore',
    })
    const running = await eventually(() => findRunning(home))
    expect(running.pid).toBe(child.pid)
    const url = `http://127.0.0.1:${running.port}`
    const { txid } = await (await clientOf(url)).charge()
    child.kill('SIGKILL')
    await once(child, 'exit')
    const next = await open({ home })
    expect(next).toMatchObject({ url, pid: process.pid })
    expect((await (await clientOf(url)).call('GET', `/cob/${txid}`)).status).toBe(200)
  })

  test('whose owner lives is refused by guiche sandbox, which names the process and the address', async () => {
    const guiche = temporaryHome()
    const home = join(guiche, 'sandbox')
    const { url } = await open({ home })
    const refused = await runProcess(['sandbox'], { GUICHE_HOME: guiche })
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: `guiche: The sandbox of ${home} already runs at ${url}, in process ${process.pid}\n`,
    })
  })

  test('whose owner is a command: another command uses it, and a service waits for its end', async () => {
    const home = await newHome()
    const command = await open({ home, isBrief: true })
    expect((await open({ home, isBrief: true })).url).toBe(command.url)
    const service = open({ home })
    // Each of these looks at the lock as the service does. So the service has looked too, and found it held.
    for (let i = 0; i < 5; i++) await open({ home, isBrief: true })
    await command.stop()
    expect((await service).url).toBe(command.url)
    expect(await findRunning(home)).toMatchObject({ isBrief: false })
  })

  test('whose port a stranger took gets another port', async () => {
    const { home, url, sandbox, charge } = await bank()
    const { txid } = await charge()
    await sandbox.stop()
    await stranger(sandbox.port)
    const moved = await Promise.all([open({ home }), open({ home }), open({ home })])
    expect(new Set(moved.map((each) => each.url)).size).toBe(1)
    expect(moved[0]?.url).not.toBe(url)
    expect((await (await clientOf(moved[0]?.url ?? '')).call('GET', `/cob/${txid}`)).status).toBe(200)
  })

  test('asked onto a port that a stranger has is refused with a clear word, and its lock is given back', async () => {
    const port = await stranger(0)
    const home = await newHome()
    await expect(open({ home, port })).rejects.toThrow(`Port ${port} is in use by another program`)
    const first = await open({ home })
    await first.stop()
    await expect(open({ home, port })).rejects.toThrow(`Port ${port} is in use by another program`)
    expect((await open({ home })).port).toBe(first.port)
  })

  test('asked onto another port moves there, unless its sandbox runs', async () => {
    const { home, sandbox, charge } = await bank()
    const { txid } = await charge()
    const port = await freePort()
    expect((await open({ home, port })).port).toBe(sandbox.port)
    await sandbox.stop()
    const moved = await open({ home, port })
    expect(moved.port).toBe(port)
    expect((await (await clientOf(moved.url)).call('GET', `/cob/${txid}`)).status).toBe(200)
  })

  test('that never was has no sandbox', async () => {
    expect(await findRunning(await newHome())).toBeUndefined()
  })
})

// Makes every fdatasync of this process wait until the test releases it or lets it fail.
async function holdSyncs() {
  const file = await openFile(process.execPath, 'r')
  const prototype: typeof file = Object.getPrototypeOf(file)
  await file.close()
  const waiting: { resolve: () => void; reject: (error: Error) => void }[] = []
  const spy = vi
    .spyOn(prototype, 'datasync')
    .mockImplementation(() => new Promise((resolve, reject) => waiting.push({ resolve, reject })))
  const release = () => {
    spy.mockRestore()
    for (const { resolve } of waiting) resolve()
  }
  onTestFinished(release)
  const fail = () => waiting.forEach(({ reject }) => reject(new Error('no space left on device')))
  return { held: () => waiting.length, release, fail }
}

async function stranger(port: number): Promise<number> {
  const server = createServer((_, response) => response.end('hello')).listen(port, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  onTestFinished(() => server.close().closeAllConnections())
  return portOf(server)
}
