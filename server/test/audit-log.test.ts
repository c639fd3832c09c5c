import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { setAccountTerms } from '../src/domain/accounts/terms.ts'
import { createAccount, resumeAccount, suspendAccount } from '../src/domain/accounts/accounts.ts'
import {
  checkReason,
  differenceOf,
  listAuditLog,
  writeAudit,
  SYSTEM,
  type Actor,
  type AuditAction,
} from '../src/domain/core/audit-log.ts'
import { makeReason } from '../src/domain/ports/delivery-reasons.ts'
import { createKey, createOperatorKey, revokeKey } from '../src/domain/accounts/api-keys.ts'
import { createOperator, setOperatorEnabled } from '../src/domain/users/operators.ts'
import {
  createWebhook,
  deleteWebhook,
  disableFailingWebhook,
  rotateSecret,
  updateWebhook,
} from '../src/domain/webhooks/webhooks.ts'
import { startReceiver } from './receiver.ts'
import { ask, CONSOLE, makeOperator } from './operators-client.ts'
import { add, call } from './webhooks-client.ts'
import { world, type World } from './world.ts'

const FAILED_FOR_DAYS = makeReason('failed_for_days', 'Every delivery failed for 5 days')

const OLGA: Actor = { kind: 'operator', name: 'olga@example.com' }
const FIELDS = {
  name: 'shop',
  url: 'https://shop.example/guiche',
  eventKinds: ['DEPOSIT_ASSET_SUCCESS' as const],
  authorization: 'Bearer abc',
}

// ---- Every change, its entry, and one transaction for both ----

type Setup = { w: World; accountId: string; keyId: string; operatorId: string; webhookId: string }
type Changing = { action: string; table: string; by?: Actor; change: (setup: Setup) => Promise<unknown> }

const CHANGES: Changing[] = [
  {
    action: 'account.created',
    table: 'accounts',
    change: ({ w }) => createAccount(w.ctx, { email: 'new@example.com', name: 'New', password: null }, OLGA),
  },
  {
    action: 'account.terms_changed',
    table: 'account_terms',
    change: ({ w, accountId }) => setAccountTerms(w.ctx, OLGA, accountId, { feeBps: 5 }, 'because'),
  },
  {
    action: 'account.suspended',
    table: 'accounts',
    change: ({ w, accountId }) => suspendAccount(w.ctx, OLGA, accountId, 'because'),
  },
  {
    action: 'account.resumed',
    table: 'accounts',
    change: ({ w, accountId }) => resumeAccount(w.ctx, OLGA, accountId, 'because'),
  },
  {
    action: 'key.created',
    table: 'api_keys',
    change: ({ w, accountId }) =>
      transact(w.pool, (tx) =>
        createKey(tx, w.clock.now(), 'test', { accountId, name: 'k', scopes: ['balance:read'], expiresAt: null }, OLGA),
      ),
  },
  {
    action: 'key.created',
    table: 'api_keys',
    change: ({ w, operatorId }) =>
      transact(w.pool, (tx) =>
        createOperatorKey(
          tx,
          w.clock.now(),
          'test',
          { operatorId, name: 'k', scope: 'operator', expiresAt: null },
          OLGA,
        ),
      ),
  },
  {
    action: 'key.revoked',
    table: 'api_keys',
    change: ({ w, keyId }) => transact(w.pool, (tx) => revokeKey(tx, w.clock.now(), keyId, OLGA)),
  },
  {
    action: 'operator.created',
    table: 'operators',
    change: ({ w }) => createOperator(w.ctx, { email: 'b@example.com', name: 'B', password: null }, OLGA),
  },
  {
    action: 'operator.disabled',
    table: 'operators',
    change: ({ w, operatorId }) => setOperatorEnabled(w.ctx, { operatorId, isEnabled: false }, OLGA),
  },
  {
    action: 'operator.enabled',
    table: 'operators',
    change: ({ w, operatorId }) => setOperatorEnabled(w.ctx, { operatorId, isEnabled: true }, OLGA),
  },
  {
    action: 'webhook.created',
    table: 'webhooks',
    change: ({ w, accountId }) => createWebhook(w.ctx, accountId, FIELDS, OLGA),
  },
  {
    action: 'webhook.changed',
    table: 'webhooks',
    change: ({ w, accountId, webhookId }) => updateWebhook(w.ctx, accountId, webhookId, { name: 'till' }, OLGA),
  },
  {
    action: 'webhook.changed',
    table: 'webhooks',
    change: ({ w, accountId, webhookId }) => updateWebhook(w.ctx, accountId, webhookId, { authorization: 'x' }, OLGA),
  },
  {
    action: 'webhook.secret_rotated',
    table: 'webhooks',
    change: ({ w, accountId, webhookId }) => rotateSecret(w.ctx, accountId, webhookId, 60, OLGA),
  },
  {
    action: 'webhook.disabled',
    table: 'webhooks',
    by: SYSTEM,
    change: ({ w, webhookId }) =>
      transact(w.pool, (tx) => disableFailingWebhook(tx, w.clock.now(), webhookId, FAILED_FOR_DAYS)),
  },
  {
    action: 'webhook.changed',
    table: 'webhooks',
    change: ({ w, accountId, webhookId }) => updateWebhook(w.ctx, accountId, webhookId, { enabled: true }, OLGA),
  },
  {
    action: 'webhook.deleted',
    table: 'webhooks',
    change: ({ w, accountId, webhookId }) => deleteWebhook(w.ctx, accountId, webhookId, OLGA),
  },
]

// The change fails at the commit, when everything is written. Anything written in a transaction of its own would
// remain.
test('every change has exactly one entry; if either cannot be written, neither is', async () => {
  const setup = await prepare()
  const { w } = setup
  for (const { action, table, by = OLGA, change } of CHANGES) {
    const before = await snapshot(w)
    for (const broken of [table, 'audit_log']) {
      await failAtCommit(w, broken, async () => {
        await expect(change(setup), `${action} with a broken ${broken}`).rejects.toThrow('fails at commit')
      })
      expect(await snapshot(w), `${action} with a broken ${broken}`).toEqual(before)
    }
    await change(setup)
    const added = (await listAuditLog(w.ctx, { limit: 100 })).changes.slice(0, (await entries(w)) - before.entries)
    expect(added).toMatchObject([{ action, actorKind: by.kind, actor: by.name, at: w.clock.now() }])
  }
})

test('an entry names its subject and its account, and tells before and after', async () => {
  const setup = await prepare()
  for (const { change } of CHANGES) await change(setup)
  const { changes } = await listAuditLog(setup.w.ctx, { limit: 100 })
  const { accountId, keyId, operatorId, webhookId } = setup
  const found = (action: string) => changes.filter((one) => one.action === action)

  expect(found('account.terms_changed')).toMatchObject([
    {
      subject: `account ${accountId}`,
      accountId,
      reason: 'because',
      details: { before: { feeBps: null }, after: { feeBps: 5 } },
    },
  ])
  expect(found('account.suspended')[0]!.details).toEqual({
    before: { suspendedAt: null, suspendedReason: null },
    after: { suspendedAt: '2026-03-02T12:00:00.000Z', suspendedReason: 'because' },
  })
  expect(found('key.revoked')).toMatchObject([{ subject: `key ${keyId}`, accountId, details: { name: 'test' } }])
  expect(found('key.created')[0]).toMatchObject({
    accountId: null,
    details: { name: 'k', scopes: ['operator'], operatorId },
  })
  expect(found('operator.disabled')).toMatchObject([{ subject: `operator ${operatorId}`, accountId: null }])
  expect(found('webhook.changed').map(({ details }) => details)).toEqual([
    {
      before: { isEnabled: false, disabledCode: 'failed_for_days' },
      after: { isEnabled: true, disabledCode: null },
    },
    { authorization: 'replaced' },
    { before: { name: 'shop' }, after: { name: 'till' } },
  ])
  expect(found('webhook.deleted')).toMatchObject([
    { subject: `webhook ${webhookId}`, accountId, details: { origin: 'https://shop.example', name: 'till' } },
  ])
})

test('what changes nothing leaves no entry', async () => {
  const { w, accountId, keyId, operatorId, webhookId } = await prepare()
  await transact(w.pool, (tx) => revokeKey(tx, w.clock.now(), keyId, OLGA))
  const before = await entries(w)
  await transact(w.pool, (tx) => revokeKey(tx, w.clock.now(), keyId, OLGA))
  await setOperatorEnabled(w.ctx, { operatorId, isEnabled: true }, OLGA)
  await resumeAccount(w.ctx, OLGA, accountId, 'because')
  await updateWebhook(w.ctx, accountId, webhookId, { name: 'shop', enabled: true }, OLGA)
  await updateWebhook(w.ctx, accountId, webhookId, {}, OLGA)
  await expect(createOperator(w.ctx, { email: 'x', name: 'X', password: null }, OLGA)).rejects.toThrow(
    'Not an e-mail address',
  )
  expect(await entries(w)).toBe(before)
})

// The first is not committed when the second comes. The second must wait, and then write no entry of its own.
test('a webhook removed twice at once, and a key revoked twice at once, are each noted once', async () => {
  const { w, accountId, keyId, webhookId } = await prepare()
  const twice = async (change: () => Promise<unknown>, sql: string) => {
    let second: Promise<unknown> | undefined
    await transact(w.pool, async (tx) => {
      await tx.run(sql, [w.clock.now()])
      second = change().catch((error: unknown) => error)
      await w.lockWait()
    })
    return second
  }
  const before = await entries(w)
  const removal = await twice(
    () => deleteWebhook(w.ctx, accountId, webhookId, OLGA),
    `update webhooks set deleted_at = $1`,
  )
  expect(removal).toMatchObject({ code: 'not_found' })
  await twice(
    () => transact(w.pool, (tx) => revokeKey(tx, w.clock.now(), keyId, OLGA)),
    'update api_keys set revoked_at = $1',
  )
  expect(await entries(w)).toBe(before)
})

test('nothing in the log is ever changed, and nothing but records of sign-ins is removed', async () => {
  const { w } = await prepare()
  for (const sql of ['update audit_log set actor = $$x$$', 'delete from audit_log', 'truncate audit_log'])
    await expect(w.pool.query(sql)).rejects.toThrow('audit_log is append only')
})

// ---- Actors ----

test('what an account holder does by key is told from what another key of theirs did', async () => {
  const w = await world()
  const account = await w.account()
  const receiver = await startReceiver((_, response) => void response.end())
  const { webhook } = await add(w, account, receiver.url)
  await call(w, account, 'PATCH', `/api/webhooks/${webhook.id}`, { name: 'till' })
  await call(w, account, 'POST', `/api/webhooks/${webhook.id}/rotate-secret`)
  await call(w, account, 'DELETE', `/api/webhooks/${webhook.id}`)
  const { changes } = await listAuditLog(w.ctx, { actor: account.email, limit: 100 })
  expect(changes.map((one) => one.action)).toEqual([
    'webhook.deleted',
    'webhook.secret_rotated',
    'webhook.changed',
    'webhook.created',
  ])
  for (const one of changes)
    expect(one).toMatchObject({ actorKind: 'account', keyId: account.caller.keyId, accountId: account.accountId })
})

test('what an operator does by the API stands in the log under the operator’s e-mail, with the key', async () => {
  const w = await world()
  const { key, keyId, email } = await makeOperator(w)
  const { accountId } = await w.account()
  await ask(w, key, 'PATCH', `accounts/${accountId}/terms`, { feeBps: 5, reason: 'contract' })
  await ask(w, key, 'POST', `accounts/${accountId}/suspend`, { reason: 'under review' })
  await ask(w, key, 'POST', `accounts/${accountId}/resume`, { reason: 'cleared' })
  const { body } = await ask(w, key, 'GET', `audit-log?actor=${email}`)
  expect(body.entries).toMatchObject(
    [
      ['account.resumed', 'cleared'],
      ['account.suspended', 'under review'],
      ['account.terms_changed', 'contract'],
    ].map(([action, reason]) => ({ action, reason, actorKind: 'operator', actor: email, keyId, accountId })),
  )
})

// ---- Secrets ----

test('no secret is in the log: no key, password, signing secret, authorization, or token in an address', async () => {
  const w = await world()
  const { key: operatorKey, operatorId } = await makeOperator(w)
  const person = { name: 'Loja', password: null }
  const { password, accountId } = await createAccount(w.ctx, { ...person, email: 'l@example.com' })
  const { password: second } = await createOperator(w.ctx, { ...person, email: 'o@example.com' }, CONSOLE)
  const { text } = await transact(w.pool, (tx) =>
    createKey(tx, w.clock.now(), 'test', { accountId, name: 'k', scopes: ['balance:read'], expiresAt: null }),
  )
  const fields = { ...FIELDS, url: 'https://shop.example/hooks/T0KEN1?key=T0KEN2', authorization: 'Bearer s3cret-one' }
  const made = await createWebhook(w.ctx, accountId, fields)
  const { webhookId } = made.webhook
  const rotated = await rotateSecret(w.ctx, accountId, webhookId, 60)
  const patch = { authorization: 'Bearer s3cret-two', url: 'https://shop.example/hooks/T0KEN3' }
  await updateWebhook(w.ctx, accountId, webhookId, patch)
  await transact(w.pool, (tx) => revokeKey(tx, w.clock.now(), text))
  await deleteWebhook(w.ctx, accountId, webhookId)

  const log = (await query<{ row: string }>(w.pool, 'select l::text as row from audit_log l')).map(({ row }) => row)
  // These texts are no secrets: finding them proves that the search works.
  expect(log.filter((row) => row.includes('https://shop.example'))).toHaveLength(2)
  expect(log.filter((row) => row.includes(operatorId))).not.toHaveLength(0)
  const hashes = await query<{ hash: string }>(w.pool, 'select password as hash from credentials')
  const keys = [operatorKey, text].flatMap((key) => [
    key.slice(14),
    createHash('sha256').update(key).digest('hex'),
    createHash('sha256').update(key).digest('base64'),
  ])
  const boxes = await query<{ box: string }>(w.pool, 'select secret_box as box from webhooks')
  for (const secret of [
    ...keys,
    password,
    second,
    'correct horse battery',
    ...hashes.map(({ hash }) => hash),
    made.secret.slice(6),
    rotated.secret.slice(6),
    ...boxes.map(({ box }) => box),
    's3cret-one',
    's3cret-two',
    'T0KEN1',
    'T0KEN2',
    'T0KEN3',
  ])
    expect(log.filter((row) => row.includes(secret))).toEqual([])
})

// ---- Reading ----

test('the log is read newest first, in pages, and found by account, actor, action and time', async () => {
  const w = await world()
  const { key } = await makeOperator(w)
  const { accountId } = await w.account()
  const note = (at: string, actor: Actor, action: AuditAction, whose: string | null) =>
    transact(w.pool, (tx) =>
      writeAudit(tx, new Date(at), actor, { action, subject: 'x', accountId: whose, reason: null, details: {} }),
    )
  await note('2026-02-01T00:00:00Z', OLGA, 'invitation.created', null)
  await note('2026-02-02T00:00:00Z', OLGA, 'invitation.revoked', accountId)
  await note('2026-02-03T00:00:00Z', SYSTEM, 'invitation.created', accountId)
  const actions = async (query: string) =>
    (await ask(w, key, 'GET', `audit-log?${query}`)).body.entries.map(
      ({ action, at }: { action: string; at: string }) => `${action} ${at.slice(8, 10)}`,
    )
  const february = 'from=2026-02-01T00:00:00Z&to=2026-03-01T00:00:00Z'
  expect(await actions(february)).toEqual(['invitation.created 03', 'invitation.revoked 02', 'invitation.created 01'])
  expect(await actions(`${february}&accountId=${accountId}`)).toEqual([
    'invitation.created 03',
    'invitation.revoked 02',
  ])
  expect(await actions(`actor=${OLGA.name}`)).toEqual(['invitation.revoked 02', 'invitation.created 01'])
  expect(await actions('action=invitation.created')).toEqual(['invitation.created 03', 'invitation.created 01'])
  expect(await actions('from=2026-02-02T00:00:00Z&to=2026-02-03T00:00:00Z')).toEqual(['invitation.revoked 02'])
  const first = (await ask(w, key, 'GET', `audit-log?limit=2&${february}`)).body
  expect(first.nextCursor).not.toBeNull()
  const second = (await ask(w, key, 'GET', `audit-log?limit=2&${february}&cursor=${first.nextCursor}`)).body
  expect([first.entries.length, second.entries.length, second.nextCursor]).toEqual([2, 1, null])
})

test('a reason is kept on one line, without spaces around it', () => {
  expect(checkReason('  é this  ')).toBe('é this')
  expect(checkReason('😀'.repeat(500))).toHaveLength(1000)
  for (const text of ['', ' ', 'a\tb', '\u001b[2J', 'a\ud800', '😀'.repeat(501)])
    expect(() => checkReason(text)).toThrow(
      'reason must be 1 to 500 characters, without control or invisible characters',
    )
})

test('a difference holds only what differs, lists and times included', () => {
  const before = { a: 1, list: ['x'], at: new Date(0), same: null }
  expect(differenceOf(before, { ...before })).toBeUndefined()
  expect(differenceOf(before, { a: 1, list: ['y'], at: new Date(1), same: null })).toEqual({
    before: { list: ['x'], at: new Date(0) },
    after: { list: ['y'], at: new Date(1) },
  })
})

async function prepare(): Promise<Setup> {
  const w = await world()
  const { accountId, caller } = await w.account()
  const { operatorId } = await makeOperator(w)
  const { webhook } = await createWebhook(w.ctx, accountId, FIELDS)
  return { w, accountId, keyId: caller.keyId!, operatorId, webhookId: webhook.webhookId }
}

async function entries(w: World): Promise<number> {
  return w.count('audit_log')
}

async function snapshot(w: World): Promise<{ entries: number; rows: string[] }> {
  const tables = ['accounts', 'account_terms', 'api_keys', 'operators', 'webhooks', 'ledger_accounts']
  // `last_used_at` is written in the background, at any time after a request.
  const row = (table: string) =>
    `select '${table}' as name, (to_jsonb(t) - 'last_used_at')::text as row from ${table} t`
  const rows = await query<{ name: string; row: string }>(
    w.pool,
    `${tables.map(row).join(' union all ')} order by name, row`,
  )
  return { entries: await entries(w), rows: rows.map(({ name, row: text }) => `${name} ${text}`) }
}

async function failAtCommit(w: World, table: string, work: () => Promise<void>): Promise<void> {
  await w.pool.query(`create or replace function fail_at_commit() returns trigger language plpgsql as
    $$ begin raise exception 'fails at commit'; end $$`)
  await w.pool.query(`create constraint trigger fails after insert or update on ${table} deferrable initially deferred
    for each row execute function fail_at_commit()`)
  try {
    await work()
  } finally {
    await w.pool.query(`drop trigger fails on ${table}`)
  }
}
