import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CHARGE_SECRET } from './databases.ts'
import { contest } from './dispute-steps.ts'
import { makeOperator } from './operators-client.ts'
import { runCli, temporaryHome } from './process.ts'
import { completedCharge } from './refund-steps.ts'
import { bearer, get } from './requests.ts'
import { world, type World } from './world.ts'

const PDF = Buffer.from('%PDF-1.4\nreceipt')

async function contested(w: World) {
  const paid = await completedCharge(w, { valueCents: 50_00 })
  return { ...paid, dispute: await contest(w, paid) }
}

const evidence = (content = PDF.toString('base64')) => ({ fileName: 'receipt.pdf', content, description: 'It came' })

test('an account holder lists disputes, reads one and gives evidence; another account finds nothing', async () => {
  const w = await world()
  const { account, charge, dispute } = await contested(w)
  const read = async (key: string, path: string) => (await w.app.inject(get(key, path))).json()
  const listed = await read(account.key, `/api/disputes?status=OPEN&paymentLinkId=${charge.paymentLinkId}`)
  expect(listed.disputes).toEqual([
    {
      id: dispute.id,
      status: 'OPEN',
      value: 50_00,
      held: 49_50,
      reason: 'Golpe',
      paymentLinkId: charge.paymentLinkId,
      externalId: null,
      endToEndId: dispute.endToEndId,
      openedAt: '2026-03-02T12:00:00.000Z',
      deadlineAt: '2026-03-09T12:00:00.000Z',
      endedAt: null,
      evidence: [],
    },
  ])
  expect(await read(account.key, '/api/balance')).toMatchObject({
    balance: 49_50,
    available: 0,
    reserved: 0,
    held: 49_50,
  })
  expect((await read(account.key, '/api/disputes?status=REJECTED')).disputes).toEqual([])

  const url = `/api/disputes/${dispute.id}/evidence`
  const give = (key: string, payload: object) => w.app.inject({ method: 'POST', url, headers: bearer(key), payload })
  const given = await give(account.key, evidence())
  expect([given.statusCode, given.json().dispute.evidence]).toMatchObject([
    202,
    [{ fileName: 'receipt.pdf', fileType: 'application/pdf', fileBytes: 16, status: 'SENDING', givenBy: 'account' }],
  ])
  expect((await read(account.key, `/api/disputes/${dispute.id}`)).dispute).toEqual(given.json().dispute)
  for (const content of ['', '!', Buffer.from('GIF89a').toString('base64')])
    expect((await give(account.key, evidence(content))).statusCode).toBe(400)
  // Larger than requests of other routes may be.
  const large = Buffer.concat([PDF, Buffer.alloc(2 * 1024 * 1024)]).toString('base64')
  expect((await give(account.key, evidence(large))).statusCode).toBe(202)

  const other = await w.account()
  expect((await read(other.key, '/api/disputes')).disputes).toEqual([])
  expect((await give(other.key, evidence())).statusCode).toBe(404)
  expect(await read(other.key, `/api/disputes/${dispute.id}`)).toMatchObject({ error: 'Dispute not found' })
  const reader = await w.account({ scopes: ['deposits:read'] })
  expect((await give(reader.key, evidence())).statusCode).toBe(403)
})

test('an operator sees open disputes by their deadline, with names, and gives evidence too', async () => {
  const w = await world()
  const first = await contested(w)
  w.clock.advance(3_600_000)
  const second = await contested(w)
  const { key } = await makeOperator(w)
  const { disputes } = (await w.app.inject(get(key, '/api/operator/disputes/open'))).json()
  expect(disputes).toMatchObject([
    { id: first.dispute.id, email: first.account.email, provider: 'sandbox' },
    { id: second.dispute.id, email: second.account.email },
  ])
  const all = (await w.app.inject(get(key, '/api/operator/disputes?limit=1'))).json()
  expect([all.disputes.length, all.disputes[0].id]).toEqual([1, second.dispute.id])
  const url = `/api/operator/disputes/${first.dispute.id}/evidence`
  const given = await w.app.inject({ method: 'POST', url, headers: bearer(key), payload: evidence() })
  expect([given.statusCode, given.json().dispute.evidence]).toMatchObject([
    202,
    [{ givenBy: expect.stringMatching(/^operator /) }],
  ])
  expect((await w.app.inject(get(key, `/api/operator/disputes/${first.dispute.id}`))).json()).toEqual(given.json())
  const { evidence: seen } = (await w.app.inject(get(first.account.key, `/api/disputes/${first.dispute.id}`))).json()
    .dispute
  expect(seen).toMatchObject([{ givenBy: 'operator' }])
})

test('a file is served at its address, as a file and nothing else, until it was sent', async () => {
  const w = await world()
  const { account, dispute } = await contested(w)
  const url = `/api/disputes/${dispute.id}/evidence`
  await w.app.inject({ method: 'POST', url, headers: bearer(account.key), payload: evidence() })
  const { rows } = await w.pool.query<{ access: string }>('select access from dispute_evidence')
  const file = await w.app.inject(`/dispute-evidence/${rows[0]!.access}`)
  expect([file.statusCode, file.rawPayload.equals(PDF)]).toEqual([200, true])
  expect(file.headers).toMatchObject({
    'content-type': 'application/pdf',
    'content-disposition': 'attachment',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringContaining('sandbox'),
  })
  expect((await w.app.inject(`/dispute-evidence/${rows[0]!.access}x`)).statusCode).toBe(404)
  await w.pool.query(
    `update dispute_evidence set status = 'SENT', ended_at = given_at, content = null, access = null, due_at = null`,
  )
  expect((await w.app.inject(`/dispute-evidence/${rows[0]!.access}`)).statusCode).toBe(404)
})

test('disputes are listed, shown and answered on the command line', async () => {
  const w = await world()
  // Commands use the real clock, so the world must be at today.
  w.clock.advance(Date.now() - w.clock.now().getTime())
  const { account, dispute } = await contested(w)
  const home = temporaryHome()
  const env = {
    DATABASE_URL: w.databaseUrl,
    PROVIDER_SANDBOX_URL: w.sandbox.url,
    SECRET_KEY: CHARGE_SECRET,
    GUICHE_HOME: home,
  }
  const guiche = (...args: string[]) => runCli(['disputes', ...args], env)
  const [head, row] = (await guiche('list')).stdout.split('\n').map((line) => line.split(/ {2,}/))
  expect(head).toEqual(['ID', 'DEADLINE', 'STATUS', 'AMOUNT', 'HELD', 'ACCOUNT', 'FILES', 'REASON'])
  expect([row![0], ...row!.slice(2)]).toEqual([dispute.id, 'OPEN', 'R$ 50,00', 'R$ 49,50', account.email, '0', 'Golpe'])
  const file = join(home, 'receipt.pdf')
  writeFileSync(file, PDF)
  const given = await guiche('evidence', dispute.id, file, '--description', 'It came')
  expect([given.code, given.stderr]).toEqual([0, ''])
  expect((await guiche('show', dispute.id)).stdout).toMatch(/Evidence +receipt\.pdf SENDING/)
  expect((await guiche('list', '--status', 'REJECTED')).stderr).toContain('No dispute matches.')
  const missing = await guiche('evidence', dispute.id, join(home, 'none.pdf'))
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('none.pdf cannot be read')])
})
