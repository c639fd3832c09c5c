import { verify } from '@node-rs/argon2'
import { expect, test } from 'vitest'
import { query, transact } from '../src/db/tx.ts'
import { SYSTEM } from '../src/domain/core/audit-log.ts'
import { createAccount, findAccount, makeAccount } from '../src/domain/accounts/accounts.ts'
import type { Person } from '../src/domain/users/users.ts'
import { hashAsTheService } from './password-cost.ts'
import { world, type World } from './world.ts'

const ANA = { email: 'ana@loja.example', name: 'Loja da Ana', password: 'correct horse battery' }

const create = (w: World, fields: Partial<Person> = {}) => createAccount(w.ctx, { ...ANA, ...fields })

test('what is stored of a password is an argon2id hash', async () => {
  hashAsTheService()
  const w = await world()
  await create(w)
  const [row] = await query<{ hash: string; row: string }>(
    w.pool,
    'select password as hash, u::text as row from credentials join users u on u.id = user_id',
  )
  expect(row!.hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await verify(row!.hash, ANA.password)).toBe(true)
  expect(await verify(row!.hash, 'correct horse batterz')).toBe(false)
  expect(row!.row).not.toContain(ANA.password)
})

test('two accounts with one password have different hashes', async () => {
  const w = await world()
  await create(w)
  await create(w, { email: 'bia@loja.example' })
  const rows = await query<{ hash: string }>(w.pool, 'select distinct password as hash from credentials')
  expect(rows).toHaveLength(2)
})

test('without a password a random one is made, and told this once', async () => {
  const w = await world()
  const { password } = await create(w, { password: null })
  const [row] = await query<{ hash: string }>(w.pool, 'select password as hash from credentials')
  expect(password).toHaveLength(20)
  expect(await verify(row!.hash, password)).toBe(true)
})

test('an account is found by its e-mail, however it is written', async () => {
  const w = await world()
  const { accountId } = await create(w, { email: ' Ana@Loja.Example ' })
  const found = { accountId, email: 'ana@loja.example', name: 'Loja da Ana' }
  expect(await findAccount(w.ctx, ' ANA@loja.example')).toEqual(found)
  expect(await findAccount(w.ctx, 'bia@loja.example')).toBeUndefined()
})

test('a second account with an e-mail is refused, in whatever case it is written', async () => {
  const w = await world()
  await create(w)
  await expect(create(w, { email: 'ANA@LOJA.EXAMPLE' })).rejects.toMatchObject({
    code: 'email_taken',
    message: 'An account with the e-mail ana@loja.example already exists',
  })
  expect([await w.count('accounts'), await w.count('ledger_accounts', `kind = 'balance'`)]).toEqual([1, 1])
})

// The first is not committed when the second comes, so the unique key makes the second wait.
test('of two accounts made with one e-mail at once, one is made', async () => {
  const w = await world()
  let second: Promise<unknown> | undefined
  await transact(w.pool, async (tx) => {
    await makeAccount(tx, w.clock.now(), { email: ANA.email, name: 'x', passwordHash: 'x' }, SYSTEM)
    second = create(w).catch((error: unknown) => error)
    await w.lockWait()
  })
  expect(await second).toMatchObject({ code: 'email_taken' })
  expect(await w.count('accounts')).toBe(1)
})

test('an account has a ledger account from its first moment, with nothing on it', async () => {
  const w = await world()
  const { accountId } = await create(w)
  expect(await w.balanceCents(accountId)).toBe(0)
})

test('without a ledger account there is no account: both are made, or neither', async () => {
  const w = await world()
  await w.pool.query(`alter table ledger_accounts add constraint full_up check (kind <> 'balance') not valid`)
  await expect(create(w)).rejects.toThrow('full_up')
  expect([await w.count('accounts'), await w.count('users'), await w.count('credentials')]).toEqual([0, 0, 0])
})

test('what cannot be an account is refused, and told why', async () => {
  const w = await world()
  const refused: [Partial<Person>, string][] = [
    [{ email: '' }, 'Not an e-mail address: '],
    [{ email: 'ana' }, 'Not an e-mail address: ana'],
    [{ email: '@loja.example' }, 'Not an e-mail address: @loja.example'],
    [{ email: 'ana@' }, 'Not an e-mail address: ana@'],
    [{ email: 'ana@loja' }, 'Not an e-mail address: ana@loja'],
    [{ email: 'ana@loja@example' }, 'Not an e-mail address: ana@loja@example'],
    [{ email: 'ana maria@loja.example' }, 'Not an e-mail address: ana maria@loja.example'],
    [{ email: `${'a'.repeat(250)}@b.ex` }, `Not an e-mail address: ${'a'.repeat(80)}`],
    [{ name: '  ' }, 'An account needs a name of 1 to 100 characters'],
    [{ name: 'n'.repeat(101) }, 'An account needs a name of 1 to 100 characters'],
    [{ password: 'elevenchars' }, 'A password must have 12 to 200 characters'],
    [{ password: '' }, 'A password must have 12 to 200 characters'],
    [{ password: 'p'.repeat(201) }, 'A password must have 12 to 200 characters'],
  ]
  for (const [fields, message] of refused) {
    const code = fields.password === undefined ? 'field_invalid' : 'password_length'
    await expect(create(w, fields)).rejects.toMatchObject({ code, message })
  }
  expect(await w.count('accounts')).toBe(0)
})
