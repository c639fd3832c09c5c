import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { migrate } from '../../src/db/migrate.ts'
import { emptyDatabase } from '../empty-database.ts'
import { runCli, runProcess, startServer, temporaryHome, type ServerProcess } from '../process.ts'
import { startReceiver } from '../receiver.ts'
import { until } from '../world.ts'

// During an update the last release runs on the new schema, beside the new version: see
// docs/decisions/0036-expand-and-contract.md. `npm run release` keeps its build in releases/, so that a clone is enough
// to run it.
const RELEASES = fileURLToPath(new URL('../releases', import.meta.url))
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

test('the last release works on while its database is migrated, and beside the new version', async ({ skip }) => {
  const [archive, ...more] = existsSync(RELEASES) ? readdirSync(RELEASES) : []
  if (archive === undefined) return skip('there is no release yet')
  expect([archive, more]).toEqual([expect.stringMatching(/^guiche-.*\.tgz$/), []])
  const database = await emptyDatabase()
  const cli = unpackRelease(archive)
  const env = { DATABASE_URL: database.url, GUICHE_HOME: temporaryHome(), REFUNDS_BY_ACCOUNTS: 'true' }
  const guiche = async (...args: string[]) => {
    const { code, stdout, stderr } = await runProcess(args, env, '', cli)
    expect([args, code, stderr]).toEqual([args, 0, expect.any(String)])
    return stdout.trim()
  }
  const old = await startServer(env, cli)
  const [, email, key] = /^E-mail: (.*)\nPassword: .*\nAPI key: (.*)$/m.exec(old.output())!
  const [, bank] = /Sandbox bank +(\S+)/.exec(old.output())!
  await guiche('operator', 'create', '--email', 'ops@example.com')
  const operatorKey = await guiche('operator', 'key', 'create', '--email', 'ops@example.com', '--name', 'test')
  const receiver = await startReceiver()
  const kinds = 'DEPOSIT_ASSET_SUCCESS,DEPOSIT_REFUNDED'
  await guiche('webhooks', 'add', '--email', email!, '--url', receiver.url, '--events', kinds)
  const access = { bank: bank!, key: key!, operatorKey }
  await useAll(old, access)

  await migrate(database.url)
  await useAll(old, access)
  await readAll(old, access)

  const current = await startServer(env)
  await Promise.all([useAll(old, access), useAll(current, access)])
  // The webhook gets one test event. Then each use completes two deposits and makes a refund.
  await receiver.got(1 + 4 * 3)
  const during = await runCli(['audit'], env)
  expect([during.code, during.stdout]).toEqual([
    3,
    expect.stringContaining('rows have no seals while an older release runs'),
  ])
  expect(during.stdout).toContain('No differences')
  expect(old.output()).not.toContain('"level":50')
  expect([await current.end('SIGTERM'), await old.end('SIGTERM')]).toEqual([0, 0])

  // Alone, the new version seals what the last one wrote.
  const alone = await startServer(env)
  await until('all rows are sealed', async () => (await runCli(['audit'], env)).stdout.includes('Everything agrees'))
  expect(await alone.end('SIGTERM')).toBe(0)
})

type Access = { bank: string; key: string; operatorKey: string }
type Charge = { id: string; paymentLinkId: string; status: string }
type Exceptions = { exceptions: { id: string; txid: string | null }[] }

/**
 * Uses all that the service does with money. One deposit is paid and refunded in part. One is paid with another amount,
 * which an operator accepts. A payment that names no charge is refunded.
 */
async function useAll({ url }: ServerProcess, { bank, key, operatorKey }: Access): Promise<void> {
  const deposit = async () => {
    const idempotencyKey = randomBytes(8).toString('hex')
    const body = { value: 50_00, externalId: `order ${idempotencyKey}` }
    const headers = { 'idempotency-key': idempotencyKey }
    return (await ask<{ charge: Charge }>(`${url}/api/deposit`, key, body, headers)).charge
  }
  const paid = await deposit()
  const wrong = await deposit()
  const stray = { id: randomBytes(16).toString('hex') }
  for (const [{ id: txid }, amountCents] of [[paid, 50_00] as const, [wrong, 49_00] as const, [stray, 7_00] as const])
    await ask(`${bank}/bank/pay`, '', { txid, amountCents })

  const about = `${url}/api/deposit/${paid.paymentLinkId}`
  await until('it is paid', async () => (await ask<{ charge: Charge }>(about, key)).charge.status === 'COMPLETED')
  await ask(`${about}/refund`, key, { value: 10_00 })
  await until('it is refunded', async () => {
    const { refunds } = await ask<{ refunds: { status: string }[] }>(`${about}/refunds`, key)
    return refunds[0]?.status === 'DONE'
  })
  for (const [{ id }, how] of [[wrong, 'match'] as const, [stray, 'refund'] as const]) {
    const exception = await until(`the exception of ${id} is open`, async () => {
      const open = await ask<Exceptions>(`${url}/api/operator/exceptions?state=open&limit=100`, operatorKey)
      return open.exceptions.find(({ txid }) => txid === id)
    })
    await ask(`${url}/api/operator/exceptions/${exception.id}/resolve`, operatorKey, { how, reason: 'as agreed' })
  }
}

/** Reads everything that needs no id. */
async function readAll({ url }: ServerProcess, { key, operatorKey }: Access): Promise<void> {
  const { paths } = await ask<{ paths: Record<string, { get?: object }> }>(`${url}/openapi.json`, key)
  const lists = Object.keys(paths).filter((path) => paths[path]!.get && !path.includes('{'))
  expect(lists.length).toBeGreaterThan(8)
  for (const path of [...lists, '/metrics']) await ask(url + path, /operator|metrics/.test(path) ? operatorKey : key)
}

async function ask<Answer>(
  url: string,
  key: string,
  body?: object,
  more: Record<string, string> = {},
): Promise<Answer> {
  const headers = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }), ...more }
  const answer = await fetch(url, body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers })
  const text = await answer.text()
  expect([url, answer.ok, text]).toEqual([url, true, expect.any(String)])
  return (text.startsWith('{') ? JSON.parse(text) : text) as Answer
}

/** The command of the last release. Its dependencies are those of this checkout. */
function unpackRelease(archive: string): string {
  const folder = temporaryHome()
  mkdirSync(join(folder, 'server'))
  execFileSync('tar', ['-xzf', join(RELEASES, archive), '-C', join(folder, 'server')])
  for (const path of ['node_modules', 'server/node_modules'])
    if (existsSync(join(ROOT, path))) symlinkSync(join(ROOT, path), join(folder, path))
  return join(folder, 'server/dist/cli.js')
}
