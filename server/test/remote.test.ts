import { existsSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import type { Scope } from '../src/domain/accounts/callers.ts'
import { ALL_ACCOUNTS } from '../src/http/console.ts'
import { makeOperator } from './operators-client.ts'
import { runCli, temporaryHome } from './process.ts'
import { startReceiver } from './receiver.ts'
import { completedCharge, strayPayment } from './refund-steps.ts'
import { portOf, UNKNOWN_ID } from './requests.ts'
import { until, world } from './world.ts'

// These commands have GUICHE_URL and GUICHE_KEY and no database: the home in which they would make one stays missing.

const NO_URL =
  'Set GUICHE_URL to the service, such as http://localhost:3000, and GUICHE_KEY to an API key of the account'

async function served() {
  const w = await world()
  await w.app.listen({ port: 0, host: '127.0.0.1' })
  return { w, url: `http://127.0.0.1:${portOf(w.app)}` }
}

function terminal(url: string, key: string) {
  const home = join(temporaryHome(), 'none')
  return async (...args: string[]) => {
    const ran = await runCli(args, { GUICHE_URL: url, GUICHE_KEY: key, GUICHE_HOME: home })
    expect(existsSync(home)).toBe(false)
    return ran
  }
}

async function accountAt(scopes?: Scope[]) {
  const { w, url } = await served()
  const account = await w.account(scopes ? { scopes } : {})
  return { w, url, account, guiche: terminal(url, account.key) }
}

async function operatorAt() {
  const { w, url } = await served()
  const { key, email } = await makeOperator(w)
  return { w, url, email, guiche: terminal(url, key) }
}

async function withServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

// ---- Commands of an account ----

test('a deposit is created, shown, paid at the sandbox, listed and counted in the balance, from anywhere', async () => {
  const { w, url, guiche } = await accountAt()
  const made = await guiche('deposit', 'create', '5000', '--external-id', 'order-1', '--description', 'Order 1')
  expect([made.code, made.stderr]).toEqual([0, ''])
  const [, id] = /^Deposit {2}(\S+)\nStatus {3}PENDING\nValue {4}R\$ 50,00\nFee {6}R\$ 0,50\n/.exec(made.stdout)!
  expect(made.stdout).toMatch(/\nPage {5}https:\/\/guiche\.example\/payment-link\/\S+\nCode {5}0002\S.*\n$/)

  const paid = await guiche('pay', id!)
  expect(paid).toEqual({ code: 0, stdout: `The sandbox bank of ${url} was told to pay ${id}\n`, stderr: '' })
  expect(JSON.parse((await guiche('deposit', 'get', id!, '--json')).stdout)).toMatchObject({
    paymentLinkId: id,
    status: 'COMPLETED',
    createdAt: expect.any(String),
  })
  const waited = await guiche('deposit', 'get', id!, '--wait')
  expect([waited.code, waited.stdout]).toEqual([0, `${id} is COMPLETED\n`])
  expect((await guiche('balance')).stdout).toBe('R$ 49,50\n')
  expect(JSON.parse((await guiche('balance', '--json')).stdout)).toEqual({
    balance: 4950,
    available: 4950,
    reserved: 0,
    held: 0,
    owed: 0,
    currency: 'BRL',
  })

  await guiche('deposit', 'create', '700', '--metadata', 'cart=7', '--metadata', 'note=a=b')
  const [newest] = JSON.parse((await guiche('deposit', 'list', '--json')).stdout)
  expect(newest.metadata).toEqual({ cart: '7', note: 'a=b' })
  const refused = await guiche('deposit', 'create', '700', '--metadata', 'cart')
  expect(refused.stderr).toContain('It must be key=value.')
  const list = await guiche('deposit', 'list', '--status', 'COMPLETED')
  expect(list.stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['ID', 'CREATED', 'STATUS', 'VALUE', 'EXTERNAL ID', 'DESCRIPTION'],
    [id, expect.any(String), 'COMPLETED', 'R$ 50,00', 'order-1', 'Order 1'],
    [''],
  ])
  expect((await guiche('deposit', 'list', '--search', 'nothing')).stderr).toBe('No deposit matches.\n')
  expect(await w.count('charges')).toBe(2)
})

test('a statement is shown with its balances, or written to a file that accounting programs read', async () => {
  const { w, account, guiche } = await accountAt()
  await completedCharge(w, { account, valueCents: 50_00 })
  const days = ['--from', '2026-03-01', '--to', '2026-03-31']
  const shown = (await guiche('statement', ...days)).stdout
  expect(shown).toMatch(/Deposit +R\$ 50,00  R\$ 0,50  R\$ 49,50  R\$ 49,50/)
  expect(shown).toMatch(/Opening +R\$ 0,00\nDeposit \(1\) +R\$ 49,50\nClosing +R\$ 49,50\nDays of +America\/Sao_Paulo/)
  const out = join(temporaryHome(), 'march.ofx')
  const written = await guiche('statement', ...days, '--format', 'ofx', '--out', out)
  expect(written).toEqual({ code: 0, stdout: '', stderr: `Written to ${out}\n` })
  expect(readFileSync(out, 'latin1')).toContain('<TRNAMT>49.50\r\n')
  const refused = await guiche('statement', '--from', 'yesterday')
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('from must be a day, such as 2026-01-31')])
})

test('the same idempotency key creates one charge, and a taken reference is refused in the words of the API', async () => {
  const { w, guiche } = await accountAt()
  const once = ['deposit', 'create', '5000', '--external-id', 'a', '--idempotency-key', 'k', '--json']
  const [first, second] = [await guiche(...once), await guiche(...once)]
  expect(JSON.parse(second.stdout)).toEqual(JSON.parse(first.stdout))
  expect(await w.count('charges')).toBe(1)
  const taken = await guiche('deposit', 'create', '5000', '--external-id', 'a')
  const { paymentLinkId } = JSON.parse(first.stdout)
  const stderr = `guiche: externalId is already used by the deposit ${paymentLinkId}\n`
  expect(taken).toEqual({ code: 1, stdout: '', stderr })
})

test('--wait ends when the charge is paid, and says so by its exit code when it is canceled', async () => {
  const { w, guiche } = await accountAt()
  const waiting = guiche('deposit', 'create', '5000', '--wait')
  const charge = await until('it is created', async () => (await w.count('charges', `status = 'PENDING'`)) === 1)
  expect(charge).toBe(true)
  const [{ paymentLinkId }] = JSON.parse((await guiche('deposit', 'list', '--json')).stdout)
  await guiche('pay', paymentLinkId)
  const ended = await waiting
  expect([ended.code, ended.stdout]).toEqual([0, expect.stringMatching(`\n${paymentLinkId} is COMPLETED\n$`)])
  expect(ended.stderr).toMatch(/^Waiting for the payment/)

  const other = JSON.parse((await guiche('deposit', 'create', '700', '--json')).stdout).paymentLinkId
  expect((await guiche('deposit', 'cancel', other)).stdout).toContain('CANCELED')
  const canceled = await guiche('deposit', 'get', other, '--wait', '--json')
  expect([canceled.code, JSON.parse(canceled.stdout).status]).toEqual([1, 'CANCELED'])
})

test('a list goes on past the pages of the API, and says when there is more', async () => {
  const { w, account, guiche } = await accountAt()
  await Promise.all(Array.from({ length: 102 }, () => w.deposit(account)))
  const all = await guiche('deposit', 'list', '--limit', '1000', '--json')
  expect([JSON.parse(all.stdout).length, all.stderr]).toEqual([102, ''])
  const some = await guiche('deposit', 'list', '--limit', '101', '--json')
  expect(new Set(JSON.parse(some.stdout).map(({ id }: { id: string }) => id)).size).toBe(101)
  expect(some.stderr).toBe('Showing the newest 101. To see more, raise --limit.\n')
})

test('webhooks and events of the account are managed from anywhere', async () => {
  const { w, account, guiche } = await accountAt()
  const receiver = await startReceiver()
  const added = await guiche('webhooks', 'add', '--url', receiver.url, '--name', 'shop')
  const [, id] = /^Webhook {2}(\S+)\nSecret {3}whsec_\S+\nTest {5}delivered: the receiver answered 200/.exec(
    added.stdout,
  )!
  expect((await guiche('webhooks', 'list')).stdout.split('\n')[1]).toMatch(`${id}  shop  ${receiver.url}  enabled`)
  expect((await guiche('webhooks', 'rotate', id!)).stdout).toMatch(/^whsec_\S+\n$/)

  const { charge } = await w.paidCharge({ account })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  const [event] = JSON.parse((await guiche('events', 'list', '--state', 'pending', '--json')).stdout)
  expect(event).toMatchObject({ event: 'DEPOSIT_ASSET_SUCCESS', deliveries: [{ webhookId: id }] })
  expect(event).not.toHaveProperty('account')
  expect((await guiche('events', 'show', event.id)).stdout).toMatch(new RegExp(`\n${id}  shop  pending `))
  expect((await guiche('events', 'resend', event.id)).stdout).toBe('Queued 1 delivery.\n')
  expect((await guiche('webhooks', 'remove', id!)).stdout).toBe(`Removed ${id} (shop).\n`)
  const ofAnother = await guiche('webhooks', 'list', '--email', account.email)
  expect(ofAnother.stderr).toBe(
    'guiche: --email and GUICHE_URL exclude each other: GUICHE_KEY already belongs to an account\n',
  )
})

// ---- Commands of an operator ----

test('an operator decides on exceptions from anywhere, and the audit log names the operator', async () => {
  const { w, email, guiche } = await operatorAt()
  const account = await w.account()
  const payment = await strayPayment(w, 7_00)
  const list = (await guiche('exceptions', 'list')).stdout.split('\n').map((line) => line.split(/ {2,}/))
  expect(list[1]!.slice(2)).toEqual(['unknown_charge', 'R$ 7,00', 'open', payment.endToEndId])
  const credit = ['exceptions', 'resolve', list[1]![0]!, '--credit', account.email.toUpperCase(), '--reason', 'order 7']
  expect((await guiche(...credit)).stdout).toContain(`Decided by  operator ${email}: order 7`)
  expect(await w.balanceCents(account.accountId)).toBe(7_00)
  expect((await guiche(...credit)).stderr).toBe('guiche: Exception is already resolved\n')
  const log = await guiche('audit-log', '--actor', email, '--email', account.email)
  expect(log.stdout).toContain('order 7')
})

test('an operator refunds deposits and suspends accounts from anywhere', async () => {
  const { w, guiche } = await operatorAt()
  const account = await w.account()
  const { charge } = await w.paidCharge({ account })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  const ask = ['refund', charge.paymentLinkId, '--amount', '2000', '--reason', 'returned', '--idempotency-key', 'k']
  const [, id] = /^Refund ([0-9a-f]{32}) of R\$ 20,00 is PROCESSING\n$/.exec((await guiche(...ask)).stdout)!
  expect((await guiche(...ask)).stdout).toContain(id)
  const listed = await guiche('refunds', '--email', account.email, '--charge', charge.paymentLinkId)
  expect(listed.stdout).toContain(`${id}  `)
  const suspended = await guiche('account', 'suspend', '--email', account.email, '--reason', 'review')
  expect(suspended.stdout).toMatch(new RegExp(`^${account.email}: suspended since .*: review\n$`))
  const nobody = await guiche('account', 'suspend', '--email', 'no@body.example', '--reason', 'x')
  expect(nobody.stderr).toMatch(/^guiche: No account has the e-mail no@body\.example/)
})

// ---- Refusals ----

test('a key that is refused is told apart from one that lacks a scope, and the scope is named', async () => {
  const { url, guiche } = await accountAt(['deposits:read'])
  expect((await guiche('balance')).stderr).toBe(
    `guiche: GUICHE_KEY does not allow this at ${url}: This API key lacks the scope balance:read\n`,
  )
  expect((await guiche('exceptions', 'list')).stderr).toMatch(/lacks the scope operator: only operators’ keys have it/)
  expect((await terminal(url, 'gk_test_wrong')('balance')).stderr).toBe(
    `guiche: GUICHE_KEY is not accepted by ${url}: Invalid API key\n`,
  )
  expect((await guiche('deposit', 'get', UNKNOWN_ID)).stderr).toBe('guiche: Charge not found\n')
  expect((await guiche('deposit', 'get', '..')).stderr).toMatch(/value '\.\.' is invalid .* It must be an id\.\n/)
})

test('the service takes nobody for its console, whatever the key says', async () => {
  const { url, account } = await accountAt()
  for (const key of [ALL_ACCOUNTS, account.accountId])
    for (const command of ['webhooks', 'exceptions'])
      expect((await terminal(url, key)(command, 'list')).stderr).toBe(
        `guiche: GUICHE_KEY is not accepted by ${url}: Invalid API key\n`,
      )
})

test('a service that does not answer, or is none, is told in one line', async () => {
  const dead = `http://127.0.0.1:${await freePort()}`
  const unreachable = await terminal(dead, 'gk_test_x')('balance')
  expect([unreachable.code, unreachable.stdout]).toEqual([1, ''])
  expect(unreachable.stderr).toMatch(/^GUICHE_URL \S+: no answer: .*ECONNREFUSED.*; trying again…\n/)
  expect(unreachable.stderr).toMatch(/\nguiche: GUICHE_URL \S+: no answer: .*ECONNREFUSED.*\n$/)

  const blog = await withServer((_, response) => void response.end('<h1>My blog</h1>'))
  expect((await terminal(blog, '')('pay', UNKNOWN_ID)).stderr).toBe(
    `guiche: GUICHE_URL ${blog}: status 200, and the body is not of guiche\n`,
  )
  expect((await terminal(dead, '')('pay', UNKNOWN_ID)).stderr).toMatch(/^guiche: GUICHE_URL \S+: no answer: .*ECONNREF/)
  expect((await terminal(blog, 'gk_test_x')('balance')).stderr).toBe(
    `guiche: GUICHE_URL ${blog}: status 200, and the body is not of guiche: check the url\n`,
  )
  const moved = await withServer((_, response) => void response.writeHead(301, { location: 'https://b.example' }).end())
  expect((await terminal(moved, 'gk_test_x')('deposit', 'create', '1')).stderr).toBe(
    `guiche: GUICHE_URL ${moved}: status 301, a redirect to https://b.example: check the url\n`,
  )
})

test('a creation without an answer is repeated with its key, and then the key is named', async () => {
  const keys: (string | undefined)[] = []
  const cut = await withServer((request) => {
    keys.push(request.headers['idempotency-key']?.toString())
    request.socket.destroy()
  })
  const created = await terminal(cut, 'gk_test_x')('deposit', 'create', '5000')
  const sent = keys.length
  expect(sent).toBeGreaterThan(1)
  expect(new Set(keys).size).toBe(1)
  expect(created.stderr).toMatch(
    new RegExp(`Whether it was done is not known: repeat the command with --idempotency-key ${keys[0]}, which does it`),
  )
  // A request that has no idempotency key is sent once.
  const resent = await terminal(cut, 'gk_test_x')('events', 'resend', '--failed')
  expect(keys).toHaveLength(sent + 1)
  expect(resent.stderr).toMatch(/Whether it was done is not known: look before you repeat it\n$/)
})

test.each([
  [
    { GUICHE_URL: 'http://pay.example.com' },
    'GUICHE_URL must be an https URL, because the key is sent with each request',
  ],
  [{ GUICHE_URL: 'pay.example.com' }, 'GUICHE_URL must be an http or https URL, not "pay.example.com"'],
  [
    { GUICHE_URL: 'https://pay.example.com/api' },
    'GUICHE_URL must be a scheme and a host without a path, such as https://pay.example.com, not "https://pay.example.com/api"',
  ],
  [
    { GUICHE_URL: 'https://pay.example.com' },
    'GUICHE_KEY must be an API key, gk_live_… or gk_test_…, since GUICHE_URL is set',
  ],
  [{ GUICHE_KEY: 'gk_test_x' }, NO_URL],
])('%j is refused before anything is sent', async (env, words) => {
  expect(await runCli(['balance'], env)).toEqual({ code: 1, stdout: '', stderr: `guiche: ${words}\n` })
})

test.each([
  ['key', 'list'],
  ['account', 'create', '--email', 'a@b.example'],
  ['audit'],
  ['seed', '--deposits', '1'],
  ['reconcile', '--list'],
])('%s needs the database, and does not take another one for that of GUICHE_URL', async (...args) => {
  const { code, stderr } = await terminal('https://pay.example.com', 'gk_live_x')(...args)
  expect([code, stderr]).toEqual([
    1,
    'guiche: This command needs the database, and GUICHE_URL names the service at https://pay.example.com: run it where that service runs, or unset GUICHE_URL\n',
  ])
})
