import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { cut, table } from '../src/commands/format.ts'
import { queryDeposit } from '../src/domain/deposits/query-deposit.ts'
import { makeSecretBox } from '../src/domain/core/secret-box.ts'
import { EVENT_KINDS, type EventKind } from '../src/domain/webhooks/event-kinds.ts'
import { createWebhook, updateWebhook } from '../src/domain/webhooks/webhooks.ts'
import { makeDeliveryWindows, makeSender } from '../src/workers/deliver.ts'
import { runCli, startServer, temporaryHome } from './process.ts'
import { startReceiver, type Received } from './receiver.ts'
import { until, world, type TestAccount, type World } from './world.ts'

const SECRET_KEY = 'k'.repeat(32)
const KIND = 'DEPOSIT_ASSET_SUCCESS'
const UNKNOWN_ID = '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57'
const UNKNOWN_EVENT = `evt_DEPOSIT_ASSET_SUCCESS_${'0'.repeat(32)}`
const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}'
const SECRET = 'whsec_[A-Za-z0-9+/]{43}='
const SHOWN_ONCE = 'Save the secret now, it is not shown again. The receiver needs it to verify signatures.\n'

/** Commands use the real clock, so the world must be at today. */
async function worldOfToday() {
  const w = await world({ settings: { secretBox: makeSecretBox(() => [SECRET_KEY]) } })
  w.clock.advance(Date.now() - w.clock.now().getTime())
  const env = {
    DATABASE_URL: w.databaseUrl,
    PROVIDER_SANDBOX_URL: w.sandbox.url,
    GUICHE_HOME: temporaryHome(),
    SECRET_KEY,
  }
  return { w, env, guiche: (...args: string[]) => runCli(args, env) }
}

function addWebhook(w: World, account: TestAccount, url: string, name = 'shop') {
  const fields = { name, url, eventKinds: [KIND] satisfies EventKind[], authorization: null }
  return createWebhook(w.ctx, account.accountId, fields)
}

async function completedCharge(w: World, account: TestAccount) {
  const { charge } = await w.paidCharge({ account })
  await queryDeposit(w.ctx, account.accountId, charge.paymentLinkId)
  w.clock.advance(1) // so that the next event has a later id
  return charge
}

/** Runs one round of the worker to its end. */
async function deliver(w: World): Promise<void> {
  const sender = makeSender(w.ctx, makeDeliveryWindows(), () => {})
  await sender.claim()
  await sender.stop(10_000)
}

function accepts(secret: string, { headers, body }: Received): boolean {
  try {
    new Webhook(secret).verify(body, headers)
    return true
  } catch {
    return false
  }
}

describe('guiche webhooks', () => {
  test('add prints the id, the secret this once, and what came of the test', async () => {
    const { w, guiche } = await worldOfToday()
    const { email } = await w.account()
    const receiver = await startReceiver((_, response) => response.end('thanks\n\tfor that'))
    const added = await guiche('webhooks', 'add', '--email', email.toUpperCase(), '--url', receiver.url)

    expect([added.code, added.stderr]).toEqual([0, SHOWN_ONCE])
    const [, id, secret] = new RegExp(
      `^Webhook  (${UUID})\nSecret   (${SECRET})\nTest     delivered: the receiver answered 200, after \\d+ ms\nAnswer   thanks for that\n$`,
    ).exec(added.stdout)!
    expect(receiver.received).toHaveLength(1)
    expect(accepts(secret!, receiver.received[0]!)).toBe(true)
    expect(JSON.parse(receiver.received[0]!.body).event).toBe('WEBHOOK_TEST')

    const [list, listed] = [await guiche('webhooks', 'list'), await guiche('webhooks', 'list', '--json')]
    const { host } = new URL(receiver.url)
    expect(list.stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['ID', 'ACCOUNT', 'NAME', 'URL', 'STATE'],
      [id, email, host, receiver.url, 'enabled'],
      [''],
    ])
    expect(JSON.parse(listed.stdout)).toMatchObject([{ account: email, id, enabled: true, hasAuthorization: false }])
    expect(list.stdout + listed.stdout).not.toContain(secret!.slice(6))
  })

  test('add --json prints what the API would answer; a test that fails is told and the webhook kept', async () => {
    const { w, guiche } = await worldOfToday()
    const { email } = await w.account()
    const url = `http://127.0.0.1:${await freePort()}/`
    const options = ['--name', 'Loja', '--events', KIND, '--authorization', 'Bearer abc']
    const added = await guiche('webhooks', 'add', '--email', email, '--url', url, ...options, '--json')
    expect(added.code).toBe(0)
    expect(JSON.parse(added.stdout)).toMatchObject({
      webhook: { name: 'Loja', url, events: [KIND], hasAuthorization: true, enabled: true },
      secret: expect.stringMatching(`^${SECRET}$`),
      test: { delivered: false, status: null, error: 'The connection was refused', excerpt: '' },
    })
    expect(await w.count('webhooks')).toBe(1)
  })

  test('a test tells the status or the reason in words, and exits 1 when it was not delivered', async () => {
    const { w, guiche } = await worldOfToday()
    const account = await w.account()
    let status = 204
    const receiver = await startReceiver((_, response) => void response.writeHead(status).end('no'.repeat(300)))
    const { webhook } = await addWebhook(w, account, receiver.url)
    const good = await guiche('webhooks', 'test', webhook.webhookId)
    expect([good.code, good.stdout]).toEqual([
      0,
      expect.stringMatching(/^Test {5}delivered: the receiver answered 204, after \d+ ms\n$/),
    ])
    status = 500
    const bad = await guiche('webhooks', 'test', webhook.webhookId)
    expect(bad.code).toBe(1)
    expect(bad.stdout).toMatch(
      /^Test {5}not delivered: the receiver answered 500, after \d+ ms\nAnswer {3}(no){200}…\n$/,
    )
    const asJson = await guiche('webhooks', 'test', webhook.webhookId, '--json')
    expect([asJson.code, JSON.parse(asJson.stdout).status]).toEqual([1, 500])
  })

  test('rotate prints the new secret alone, and the old one signs as long as it was told to', async () => {
    const { w, guiche } = await worldOfToday()
    const account = await w.account()
    const receiver = await startReceiver()
    const { webhook, secret: first } = await addWebhook(w, account, receiver.url)
    const rotated = await guiche('webhooks', 'rotate', webhook.webhookId)
    const second = rotated.stdout.trim()
    expect(rotated.stdout).toMatch(new RegExp(`^${SECRET}\n$`))
    expect(rotated.stderr).toMatch(/^The old secret also signs until \d{4}-\d\d-\d\d \d\d:\d\d UTC\.\n$/)
    await guiche('webhooks', 'test', webhook.webhookId)
    expect([first, second].map((secret) => accepts(secret, receiver.received[0]!))).toEqual([true, true])
    const day = `previous_secret_until between now() + interval '23 hours' and now() + interval '24 hours'`
    expect(await w.count('webhooks', day)).toBe(1)

    const leaked = await guiche('webhooks', 'rotate', webhook.webhookId, '--overlap-hours', '0')
    expect(leaked.stderr).toBe('The old secret no longer signs.\n')
    await guiche('webhooks', 'test', webhook.webhookId)
    const third = leaked.stdout.trim()
    expect([second, third].map((secret) => accepts(secret, receiver.received[1]!))).toEqual([false, true])
  })

  test('disable, enable and remove act on any account’s webhook, and enable tells how to catch up', async () => {
    const { w, guiche } = await worldOfToday()
    const [account, other] = [await w.account(), await w.account()]
    const { webhook } = await addWebhook(w, account, 'http://127.0.0.1:1234/')
    await addWebhook(w, other, 'http://127.0.0.1:1234/')
    const id = webhook.webhookId
    const stateOf = async () =>
      JSON.parse((await guiche('webhooks', 'list', '--email', account.email, '--json')).stdout)
    expect((await guiche('webhooks', 'disable', id)).stdout).toBe(`Disabled ${id} (shop).\n`)
    const [disabled] = await stateOf()
    expect(disabled).toMatchObject({ enabled: false, disabledReason: 'disabled by the operator' })
    expect((await guiche('webhooks', 'list')).stdout).toMatch(
      /off since \d{4}-\d\d-\d\d \d\d:\d\d: disabled by the operator$/m,
    )

    const enabled = await guiche('webhooks', 'enable', id)
    expect(enabled.stdout).toBe(`Enabled ${id} (shop).\n`)
    expect(enabled.stderr.trim().split('\n')).toEqual([
      `To resend failed deliveries:  guiche events resend --failed --webhook ${id}`,
      `To send what it missed:       guiche events resend --since ${disabled.disabledAt} --webhook ${id}`,
    ])
    expect(await stateOf()).toMatchObject([{ enabled: true }])
    expect((await guiche('webhooks', 'remove', id)).stdout).toBe(`Removed ${id} (shop).\n`)
    expect(await stateOf()).toEqual([])
    expect(await w.count('webhooks', 'deleted_at is null')).toBe(1)
  })

  test('add warns when the secrets that are there were sealed with another SECRET_KEY', async () => {
    const { w, env } = await worldOfToday()
    const account = await w.account()
    const receiver = await startReceiver()
    const add = (key: string) =>
      runCli(['webhooks', 'add', '--email', account.email, '--url', receiver.url], { ...env, SECRET_KEY: key })
    expect((await add(SECRET_KEY)).stderr).toBe(SHOWN_ONCE)
    const foreign = await add('another'.repeat(5))
    expect(foreign.stderr).toMatch(/^Warning: this SECRET_KEY does not open the stored secrets\./)
    expect(foreign.code).toBe(0)
  })
})

describe('guiche events', () => {
  test('list and show tell of everybody’s events what became of them', async () => {
    const { w, guiche } = await worldOfToday()
    const [account, other] = [await w.account(), await w.account()]
    let status = 503
    const receiver = await startReceiver((_, response) => void response.writeHead(status).end('busy\nnow'))
    const { webhook } = await addWebhook(w, account, receiver.url)
    const charge = await completedCharge(w, account)
    await deliver(w)
    await completedCharge(w, other)

    const list = await guiche('events', 'list')
    const rows = list.stdout.split('\n').map((line) => line.split(/ {2,}/))
    const moment = expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d$/)
    const [id] = rows[2]!
    expect(rows).toEqual([
      ['ID', 'ACCOUNT', 'EVENT', 'CREATED', 'DELIVERIES'],
      [expect.stringMatching(/^evt_/), other.email, KIND, moment, 'none'],
      [receiver.received[0]!.id, account.email, KIND, moment, '1 retrying'],
      [''],
    ])
    const newest = await guiche('events', 'list', '--limit', '1', '--json')
    expect(JSON.parse(newest.stdout)).toMatchObject([{ account: other.email, deliveries: [] }])
    expect(newest.stderr).toBe('Showing the newest 1. To see more, raise --limit.\n')
    const filtered = await guiche('events', 'list', '--state', 'retrying', '--email', account.email, '--json')
    expect(JSON.parse(filtered.stdout)).toMatchObject([{ id, account: account.email }])
    expect((await guiche('events', 'list', '--state', 'failed')).stderr).toBe('No event matches.\n')

    const shown = await guiche('events', 'show', id!)
    const second = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d'
    expect(shown.stdout).toMatch(
      new RegExp(
        [
          `^Event    ${id}`,
          `Kind     ${KIND}`,
          `Account  ${account.email}`,
          `Created  ${second}`,
          `Body     {"id":"${id}",.*"transactionId":"${charge.id}".*}`,
          '',
          'WEBHOOK +NAME +STATE +ATTEMPTS +WHEN',
          `${webhook.webhookId}  shop  retrying  1         next ${second}`,
          '',
          'ATTEMPT AT +NAME +NUMBER +OUTCOME +LATENCY +ANSWER',
          `${second}  shop  1       answered 503  \\d+ ms +busy now\n$`,
        ].join('\n'),
      ),
    )
    const asJson = JSON.parse((await guiche('events', 'show', id!, '--json')).stdout)
    expect(asJson).toMatchObject({ account: account.email, id, attempts: [{ number: 1, status: 503 }] })
    const unwanted = await guiche('events', 'show', rows[1]![0]!)
    expect(unwanted.stdout).toMatch(/\n\nNo webhook subscribed to it\.\n$/)
  })

  test('resend queues while no server runs, and a server that runs sends at once', async () => {
    const { w, env, guiche } = await worldOfToday()
    const [account, other] = [await w.account(), await w.account()]
    const receiver = await startReceiver()
    const webhooks = [await addWebhook(w, account, receiver.url), await addWebhook(w, other, receiver.url)]
    for (const holder of [account, account, other]) await completedCharge(w, holder)
    // Disabling a webhook fails what was queued for it.
    for (const [index, holder] of [account, other].entries()) {
      for (const enabled of [false, true])
        await updateWebhook(w.ctx, holder.accountId, webhooks[index]!.webhook.webhookId, { enabled })
    }
    const waits = 'The running server sends within a second. If none is running: guiche start\n'

    const one = await guiche('events', 'resend', '--failed', '--email', other.email)
    expect([one.code, one.stdout, one.stderr]).toEqual([0, 'Queued 1 delivery.\n', waits])
    expect((await guiche('events', 'resend', '--failed')).stdout).toBe('Queued 2 deliveries.\n')
    const none = await guiche('events', 'resend', '--failed', '--json')
    expect([none.code, JSON.parse(none.stdout)]).toEqual([0, { queued: 0 }])
    expect(none.stderr).toMatch(/^Nothing to send: /)
    expect(await w.count('deliveries')).toBe(3)
    expect(receiver.received).toHaveLength(0)

    await startServer(env)
    await until('the queue is empty', async () => (await w.count('deliveries')) === 0)
    expect(receiver.received).toHaveLength(3)
    expect((await guiche('events', 'resend', receiver.received[0]!.id)).stdout).toBe('Queued 1 delivery.\n')
    await receiver.got(4)
    const since = new Date(Date.now() - 3_600_000).toISOString()
    const toOne = ['--webhook', webhooks[0]!.webhook.webhookId]
    expect((await guiche('events', 'resend', '--since', since, ...toOne)).stdout).toBe('Queued 2 deliveries.\n')
    await receiver.got(6)
    await until('all is written down', async () => (await w.count('deliveries')) === 0)
    const { id } = receiver.received[0]!
    const events = JSON.parse((await guiche('events', 'list', '--json')).stdout)
    expect(events.find((event: { id: string }) => event.id === id).deliveries).toMatchObject([{ state: 'delivered' }])
  })
})

const ADD = ['webhooks', 'add', '--url', 'http://127.0.0.1:1234/']
const ONE_OF = 'guiche: Give exactly one of: an event (evt_…), --failed, --since <time>'
const NO_ACCOUNT =
  'guiche: No account has the e-mail no@body.example; create it with: guiche account create --email no@body.example'

test('what the operator can mend is refused in one line, with nothing written', async () => {
  const { w, guiche } = await worldOfToday()
  const { email } = await w.account()
  for (const [args, line] of [
    [[...ADD, '--email', 'no@body.example'], NO_ACCOUNT],
    [['webhooks', 'list', '--email', 'no@body.example'], NO_ACCOUNT],
    [['events', 'resend', '--failed', '--email', 'no@body.example'], NO_ACCOUNT],
    [
      ['webhooks', 'add', '--email', email, '--url', 'http://10.0.0.1/'],
      'guiche: A private address is not allowed: private network',
    ],
    [
      [...ADD, '--email', email, '--events', `${KIND},X`],
      `guiche: events must list at least one of ${EVENT_KINDS.join(', ')}`,
    ],
    [
      [...ADD, '--email', email, '--name', '\u001b[31m'],
      'guiche: name must be 1 to 100 characters, without control or invisible characters',
    ],
    [['webhooks', 'test', UNKNOWN_ID], 'guiche: Webhook not found'],
    [['webhooks', 'remove', 'x'], 'guiche: Webhook not found'],
    [['events', 'show', UNKNOWN_EVENT], 'guiche: Event not found'],
    [['events', 'resend', 'x'], 'guiche: Event not found'],
    [['events', 'resend', '--failed', '--webhook', 'x'], 'guiche: webhookId must be the id of a webhook'],
    [['events', 'resend', '--failed', '--webhook', UNKNOWN_ID], 'guiche: Webhook not found'],
    [['events', 'resend'], ONE_OF],
    [['events', 'resend', UNKNOWN_EVENT, '--failed'], ONE_OF],
  ] as const) {
    const refused = await guiche(...args)
    expect([args, refused.code, refused.stdout, refused.stderr]).toEqual([args, 1, '', `${line}\n`])
  }
  expect([await w.count('webhooks'), await w.count('events')]).toEqual([0, 0])
})

test('an option out of bounds is refused with what is allowed, before anything is opened', async () => {
  for (const [args, text] of [
    [['webhooks', 'rotate', UNKNOWN_ID, '--overlap-hours', '169'], 'It must be a whole number from 0 to 168.'],
    [['events', 'list', '--state', 'open'], 'Allowed choices are pending, retrying, delivered, failed.'],
    [['events', 'list', '--limit', '1001'], 'It must be a whole number from 1 to 1000.'],
    [['events', 'resend', '--since', '2026-01-31T00:00:00'], 'with its zone, such as 2026-01-31T00:00:00Z.'],
  ] as const) {
    const refused = await runCli([...args], {})
    expect([args, refused.code, refused.stdout]).toEqual([args, 1, ''])
    expect(refused.stderr).toContain(text)
  }
})

test('help names every command, and shows how to begin', async () => {
  const [webhooks, events] = [await runCli(['webhooks', '--help'], {}), await runCli(['events', '--help'], {})]
  for (const name of ['add', 'listen', 'list', 'test', 'rotate', 'enable', 'disable', 'remove'])
    expect(webhooks.stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
  expect(webhooks.stdout).toContain('$ npx guiche webhooks listen')
  for (const name of ['list', 'show', 'resend']) expect(events.stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
})

test('what others made up cannot steer the terminal', () => {
  expect(table(['A', 'B'], [['x\u001b[31m\n\ty', '1']])).toBe('A         B\nx�[31m y  1')
  expect(cut('  ação\u202e \n tudo bem', 6)).toBe('ação� …')
})
