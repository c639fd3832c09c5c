import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { suspendAccount } from '../src/domain/accounts/accounts.ts'
import { eraseAccount } from '../src/domain/accounts/erase-account.ts'
import { inviteMember, joinAccount, joinWithNewSignIn } from '../src/domain/accounts/member-invitations.ts'
import { changeRole, listMembers, MAX_MEMBERS, removeMember } from '../src/domain/accounts/members.ts'
import { newUuid7 } from '../src/base/ids.ts'
import type { Actor } from '../src/domain/core/audit-log.ts'
import { CHARGE_SECRET } from './databases.ts'
import { join } from './members-client.ts'
import { CONSOLE } from './operators-client.ts'
import { runCli, temporaryHome } from './process.ts'
import { openBrowser, PASSWORD } from './sign-in-client.ts'
import { world, type World } from './world.ts'

const OWNER: Actor = { kind: 'account', name: 'ana@example.com' }
const MEMBERS = '/dashboard/api/members'
const DAY_MS = 24 * 3_600_000

test('an owner invites by e-mail, and a new person signs up by the link and joins with a confirmed e-mail', async () => {
  const w = await world()
  const account = await w.account()
  const owner = await w.session(account)
  const invited = await owner.ask('POST', `${MEMBERS}/invitations`, { email: 'Bia@Example.com', role: 'finance' })
  // With a mail server the link is in the e-mail alone: whoever follows it reads that mailbox.
  expect([invited.statusCode, invited.json().link]).toEqual([201, null])
  const [letter] = w.letters
  expect(letter).toMatchObject({ to: 'bia@example.com' })
  expect(letter!.text).toContain(account.caller.accountName)
  const invitation = new URL(letter!.link).searchParams.get('invitation')!

  const bia = openBrowser(w)
  expect((await bia.post('auth/membership/invitation', { invitation })).json().invitation).toEqual({
    accountName: account.caller.accountName,
    email: 'bia@example.com',
    role: 'finance',
    hasSignIn: false,
  })
  const joined = await bia.post('auth/membership/sign-up', { invitation, name: 'Bia', password: PASSWORD })
  expect(joined.json()).toEqual({ success: true, email: 'bia@example.com' })
  expect((await bia.signIn('bia@example.com')).statusCode).toBe(200)
  expect(await bia.me()).toMatchObject({ email: 'bia@example.com', accountId: account.accountId, role: 'finance' })
  const { members, invitations } = (await owner.ask('GET', MEMBERS)).json()
  expect(members.map(({ email, role }: { email: string; role: string }) => [email, role])).toEqual([
    [account.email, 'owner'],
    ['bia@example.com', 'finance'],
  ])
  expect(invitations).toEqual([])
  expect((await bia.post('auth/membership/invitation', { invitation })).json().code).toBe('invitation_used')
  expect(await w.differences()).toEqual([])
})

test('a person with a sign-in joins by it, and acts for one account at a time', async () => {
  const w = await world()
  const [first, second] = [await w.account(), await w.account()]
  const session = await w.session(first)
  const { token } = await inviteMember(w.ctx, OWNER, { ...second, email: first.email, role: 'viewer' })
  const join = (invitation: string) => session.ask('POST', '/dashboard/api/auth/membership/join', { invitation })
  expect((await join(token)).statusCode).toBe(200)
  const me = async () => (await session.ask('GET', '/dashboard/api/me')).json().me
  expect(await me()).toMatchObject({ accountId: second.accountId, role: 'viewer', email: first.email })
  expect((await me()).accounts.map((one: { accountId: string }) => one.accountId)).toEqual([
    second.accountId,
    first.accountId,
  ])
  expect((await session.ask('POST', '/dashboard/api/deposit', { value: 50_00 })).json().code).toBe('scope_missing')

  const choose = (accountId: string) => session.ask('POST', '/dashboard/api/auth/membership/switch', { accountId })
  expect((await choose(first.accountId)).statusCode).toBe(200)
  expect(await me()).toMatchObject({ accountId: first.accountId, role: 'owner' })
  expect((await choose((await w.account()).accountId)).statusCode).toBe(404)

  // A page that was loaded for the other account does not act for this one.
  const payload = { value: 50_00 }
  const headers = { cookie: session.cookie, origin: 'https://guiche.example', 'guiche-account': second.accountId }
  const stale = await w.app.inject({ method: 'POST', url: '/dashboard/api/deposit', headers, payload })
  expect([stale.statusCode, stale.json().code]).toEqual([409, 'account_switched'])
})

test('only the invited person joins, once, in time, and not after the invitation was revoked or sent again', async () => {
  const w = await world()
  const account = await w.account()
  const owner = await w.session(account)
  const invite = async (email: string) =>
    (await inviteMember(w.ctx, OWNER, { ...account, email, role: 'viewer' })).token
  const signUp = (token: string) => joinWithNewSignIn(w.ctx, token, { name: 'Bia', password: PASSWORD })

  const token = await invite('bia@example.com')
  const other = await w.account()
  const { userId } = (await listMembers(w.ctx, other.accountId))[0]!
  await expect(joinAccount(w.ctx, token, { userId, email: other.email })).rejects.toMatchObject({
    code: 'invitation_other_email',
  })
  const [{ id }] = (await owner.ask('GET', MEMBERS)).json().invitations
  expect((await owner.ask('POST', `${MEMBERS}/invitations/${id}/resend`)).statusCode).toBe(200)
  await expect(signUp(token)).rejects.toMatchObject({ code: 'invitation_used' })
  const again = (await owner.ask('GET', MEMBERS)).json().invitations[0].id
  expect((await owner.ask('DELETE', `${MEMBERS}/invitations/${again}`)).statusCode).toBe(200)
  const sent = new URL(w.letters.at(-1)!.link).searchParams.get('invitation')!
  await expect(signUp(sent)).rejects.toMatchObject({ code: 'invitation_used' })

  const late = await invite('late@example.com')
  w.clock.advance(7 * DAY_MS)
  await expect(signUp(late)).rejects.toMatchObject({ code: 'invitation_expired' })
  expect(await listMembers(w.ctx, account.accountId)).toHaveLength(1)
})

test('two people who follow one link at once join once', async () => {
  const w = await world()
  const account = await w.account()
  const { token } = await inviteMember(w.ctx, OWNER, { ...account, email: 'bia@example.com', role: 'viewer' })
  let racing: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select from accounts where id = $1 for no key update', [account.accountId])
    const follow = () => joinWithNewSignIn(w.ctx, token, { name: 'Bia', password: PASSWORD })
    racing = Promise.allSettled([follow(), follow()])
    await w.lockWait()
  })
  const outcomes = (await racing) as PromiseSettledResult<unknown>[]
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(await w.count('members', `account_id = '${account.accountId}'`)).toBe(2)
})

test('an invitation that was put into the database by hand lets nobody in', async () => {
  const w = await world()
  const account = await w.account()
  const { token } = await inviteMember(w.ctx, OWNER, { ...account, email: 'bia@example.com', role: 'viewer' })
  await query(w.pool, `update member_invitations set role = 'owner'`)
  await expect(joinWithNewSignIn(w.ctx, token, { name: 'Bia', password: PASSWORD })).rejects.toThrow('altered')
  expect(await listMembers(w.ctx, account.accountId)).toHaveLength(1)
})

test('a new role and a removal apply from the next request on', async () => {
  const w = await world()
  const account = await w.account()
  const owner = await w.session(account)
  const member = await join(w, account.accountId, 'developer')
  const session = await w.session(member)
  const status = async () => (await session.ask('GET', '/dashboard/api/balance')).statusCode
  expect(await status()).toBe(200)
  await owner.ask('PATCH', `${MEMBERS}/${member.userId}`, { role: 'cashier' })
  expect(await status()).toBe(403)
  await owner.ask('PATCH', `${MEMBERS}/${member.userId}`, { role: 'finance' })
  expect(await status()).toBe(200)
  await owner.ask('DELETE', `${MEMBERS}/${member.userId}`)
  expect(await status()).toBe(401)
  const browser = openBrowser(w)
  expect((await browser.signIn(member.email)).json().code).toBe('INVALID_EMAIL_OR_PASSWORD')
  // Invited again, the person comes back with the new role.
  expect(await join(w, account.accountId, 'viewer', member.email)).toEqual(member)
  expect(await status()).toBe(200)
  expect(await w.differences()).toEqual([])
})

test('an account keeps an owner, whoever leaves or is demoted, also if two leave at once', async () => {
  const w = await world()
  const account = await w.account()
  const session = await w.session(account)
  const leave = () => session.ask('POST', '/dashboard/api/auth/membership/leave', {})
  expect((await leave()).json().code).toBe('last_owner')
  const [first] = await listMembers(w.ctx, account.accountId)
  const { accountId } = account
  await expect(changeRole(w.ctx, OWNER, { accountId, userId: first!.userId, role: 'viewer' })).rejects.toMatchObject({
    code: 'last_owner',
  })
  const second = await join(w, accountId, 'owner')
  let racing: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await tx.run('select from accounts where id = $1 for no key update', [accountId])
    racing = Promise.allSettled([
      removeMember(w.ctx, OWNER, accountId, first!.userId),
      removeMember(w.ctx, OWNER, accountId, second.userId),
    ])
    await w.lockWait()
  })
  const outcomes = (await racing) as PromiseSettledResult<unknown>[]
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(await listMembers(w.ctx, accountId)).toHaveLength(1)
  expect(await w.differences()).toEqual([])
})

test('an owner who leaves is the contact of the account no more, and goes on where they are a member', async () => {
  const w = await world()
  const [account, other] = [await w.account(), await w.account()]
  const next = await join(w, account.accountId, 'owner', 'next@example.com')
  await join(w, other.accountId, 'viewer', account.email)
  const session = await w.session(account)
  expect((await session.ask('POST', '/dashboard/api/auth/membership/leave', {})).statusCode).toBe(200)
  expect((await session.ask('GET', '/dashboard/api/me')).json().me).toMatchObject({ accountId: other.accountId })
  expect(await query(w.pool, 'select email from accounts where id = $1', [account.accountId])).toEqual([
    { email: next.email },
  ])
  expect(await w.differences()).toEqual([])
})

test('an account has at most a hundred members and open invitations', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const invite = (email: string) => inviteMember(w.ctx, OWNER, { accountId, email, role: 'viewer' })
  await query(
    w.pool,
    `insert into member_invitations (id, account_id, email, role, token_hash, invited_by, created_at, expires_at, seal)
     select gen_random_uuid(), $1, n || '@example.com', 'viewer', sha256(n::text::bytea), 'x', now(), now(), ''
     from generate_series(3, $2) n`,
    [accountId, MAX_MEMBERS],
  )
  await invite('last@example.com')
  await expect(invite('more@example.com')).rejects.toMatchObject({ code: 'member_limit' })
  // The same person again takes the place of the first invitation.
  await invite('last@example.com')
  await expect(invite((await listMembers(w.ctx, accountId))[0]!.email)).rejects.toMatchObject({
    code: 'already_member',
  })
})

test('who has no second factor can only set one up while the owner demands it', async () => {
  const w = await world()
  const account = await w.account()
  const owner = await w.session(account)
  const session = await w.session(await join(w, account.accountId, 'viewer'))
  const demand = (required: boolean) => owner.ask('PUT', `${MEMBERS}/second-factor`, { required })
  expect((await demand(true)).statusCode).toBe(200)
  const answer = await session.ask('GET', '/dashboard/api/balance')
  expect([answer.statusCode, answer.json().code]).toEqual([403, 'second_factor_required'])
  expect((await session.ask('GET', '/dashboard/api/me')).json().me.mustSetUpSecondFactor).toBe(true)
  await query(w.pool, 'update users set two_factor_enabled = true')
  expect((await session.ask('GET', '/dashboard/api/balance')).statusCode).toBe(200)
  await query(w.pool, 'update users set two_factor_enabled = false')
  expect((await demand(true)).json().code).toBe('second_factor_required')
})

test('the audit log names the person who acted, and each change of the members', async () => {
  const w = await world()
  const account = await w.account()
  const owner = await w.session(account)
  const developer = await join(w, account.accountId, 'developer')
  const session = await w.session(developer)
  await session.ask('POST', '/dashboard/api/keys', { name: 'shop', scopes: ['deposits:read'] })
  await owner.ask('PATCH', `${MEMBERS}/${developer.userId}`, { role: 'viewer' })
  await owner.ask('DELETE', `${MEMBERS}/${developer.userId}`)
  await owner.ask('PUT', `${MEMBERS}/second-factor`, { required: true })
  const lines = await query<{ line: string }>(
    w.pool,
    `select action || ' by ' || actor as line from audit_log where account_id = $1 and id > (
       select max(id) from audit_log where action = 'account.created') order by id`,
    [account.accountId],
  )
  expect(lines.map(({ line }) => line).filter((line) => !line.endsWith('by guiche'))).toEqual([
    'member.invited by owner',
    `member.joined by ${developer.email}`,
    `key.created by ${developer.email}`,
    `member.role_changed by ${account.email}`,
    `member.removed by ${account.email}`,
    `account.second_factor_demanded by ${account.email}`,
  ])
})

test('an operator lists the members on the command line, and makes one an owner when no owner can', async () => {
  const w = await world()
  const account = await w.account()
  const member = await join(w, account.accountId, 'viewer')
  const env = { DATABASE_URL: w.databaseUrl, SECRET_KEY: CHARGE_SECRET, GUICHE_HOME: temporaryHome() }
  const of = ['--email', account.email]
  const role = ['account', 'role', ...of, '--member', member.email, '--role', 'owner', '--reason', 'the owner has left']
  expect((await runCli(role, env)).stdout).toBe(`${member.email}: owner of ${account.email}\n`)
  const { stdout } = await runCli(['account', 'members', ...of, '--json'], env)
  expect(JSON.parse(stdout).map((one: { role: string }) => one.role)).toEqual(['owner', 'owner'])
  const [line] = await query(w.pool, `select reason, actor_kind from audit_log where action = 'member.role_changed'`)
  expect(line).toEqual({ reason: 'the owner has left', actor_kind: 'console' })
})

test('the audit names a member, a role or a removal that somebody else wrote', async () => {
  const w = await world()
  const account = await w.account()
  const member = await join(w, account.accountId, 'viewer')
  const eve = (await listMembers(w.ctx, (await w.account()).accountId))[0]!.userId
  const named = async () => (await w.differences()).map(({ check, subject }) => [check, subject.split(' ')[0]])
  expect(await named()).toEqual([])
  const forgeries = [
    `insert into members (id, account_id, user_id, role, added_at)
       values ('${newUuid7(w.clock.now())}', '${account.accountId}', '${eve}', 'owner', now())`,
    `update members set role = 'owner' where user_id = '${member.userId}'`,
    `update members set removed_at = now() where user_id = '${member.userId}'`,
    `delete from members where user_id = '${member.userId}'`,
  ]
  for (const [index, sql] of forgeries.entries()) {
    const before = await query(w.pool, 'select * from members')
    await w.pool.query(sql)
    expect([index, await named()]).toEqual([index, [['row', 'member']]])
    await restore(w, before)
  }
})

async function restore(w: World, rows: unknown[]): Promise<void> {
  await w.pool.query('delete from members')
  await w.pool.query('insert into members select * from jsonb_populate_recordset(null::members, $1)', [
    JSON.stringify(rows),
  ])
}

test('erasing an account erases its members who belong to nothing else, and leaves the others', async () => {
  const w = await world()
  const [account, other] = [await w.account(), await w.account()]
  const gone = await join(w, account.accountId, 'finance', 'gone@example.com')
  await removeMember(w.ctx, OWNER, account.accountId, gone.userId)
  await join(w, account.accountId, 'viewer', 'only@example.com')
  await join(w, account.accountId, 'viewer', other.email)
  await inviteMember(w.ctx, OWNER, { ...account, email: 'invited@example.com', role: 'viewer' })
  await suspendAccount(w.ctx, CONSOLE, account.accountId, 'closed')
  w.clock.advance(60_000)
  await eraseAccount(w.ctx, CONSOLE, { accountId: account.accountId }, 'by request')
  const text = await everything(w)
  for (const email of [account.email, 'gone@example.com', 'only@example.com', 'invited@example.com'])
    expect([email, text.includes(email)]).toEqual([email, false])
  const [left] = await listMembers(w.ctx, other.accountId)
  expect(left).toMatchObject({ email: other.email, role: 'owner' })
  expect((await (await w.session(other)).ask('GET', '/dashboard/api/balance')).statusCode).toBe(200)
  expect(await w.differences()).toEqual([])
})

test('a contact who goes on elsewhere keeps the sign-in when the account is erased', async () => {
  const w = await world()
  const [account, other] = [await w.account(), await w.account()]
  await join(w, other.accountId, 'viewer', account.email)
  await suspendAccount(w.ctx, CONSOLE, account.accountId, 'closed')
  w.clock.advance(60_000)
  await eraseAccount(w.ctx, CONSOLE, { accountId: account.accountId }, 'by request')
  expect((await listMembers(w.ctx, other.accountId)).map(({ email }) => email)).toContain(account.email)
  expect(await query(w.pool, 'select email from accounts where id = $1', [account.accountId])).toEqual([
    { email: `${account.accountId}@erased.invalid` },
  ])
  expect(await w.differences()).toEqual([])
})

async function everything(w: World): Promise<string> {
  const tables = await query<{ name: string }>(
    w.pool,
    `select tablename as name from pg_tables where schemaname = 'public'`,
  )
  const texts = tables.map(async ({ name }) => {
    const [row] = await query<{ text: string | null }>(
      w.pool,
      `select string_agg(t::text, E'\\n') as text from ${name} t`,
    )
    return row!.text ?? ''
  })
  return (await Promise.all(texts)).join('\n')
}
