import { expect, test } from 'vitest'
import { suspendAccount } from '../src/domain/accounts/accounts.ts'
import { changeShop, NO_BRAND, readLogo, type Shop } from '../src/domain/accounts/brands.ts'
import { eraseAccount } from '../src/domain/accounts/erase-account.ts'
import type { Actor } from '../src/domain/core/audit-log.ts'
import { cancelDeposit } from '../src/domain/deposits/query-deposit.ts'
import { exportAccount } from '../src/domain/reports/export-account.ts'
import { corrupt } from './corrupt.ts'
import { grey, pngChunk, pngHeader, pngOf } from './image-samples.ts'
import { join } from './members-client.ts'
import { CONSOLE } from './operators-client.ts'
import { appWith, bearer, deposit, get } from './requests.ts'
import { world, type TestAccount, type TestSession, type World } from './world.ts'

// What an account says of itself to payers, and to where it may send them back.

const URL = '/dashboard/api/shop'
const EMPTY = {
  version: 0,
  displayName: null,
  color: null,
  cnpj: null,
  supportEmail: null,
  supportPhone: null,
  supportUrl: null,
  defaultDescription: null,
  defaultExpiresIn: null,
  language: 'pt-BR',
  returnOrigins: [] as string[],
}
const FULL = {
  ...EMPTY,
  displayName: 'Loja Aurora',
  color: '#C2185B',
  cnpj: '12.ABC.345/01DE-35',
  supportEmail: 'ajuda@aurora.example',
  supportPhone: '(11) 99999-8888',
  supportUrl: 'https://wa.me/5511999998888',
  defaultDescription: 'Pedido na Loja Aurora',
  defaultExpiresIn: 2_592_000,
  language: 'es',
  returnOrigins: ['https://Aurora.example/', 'https://aurora.example', 'http://localhost:3000'],
}
const OWNER: Actor = { kind: 'account', name: 'owner' }

async function opened() {
  const w = await world()
  const account = await w.account()
  return { w, account, session: await w.session(account) }
}

/** Gives an account return origins, without the dashboard. */
async function allow(w: World, { accountId }: TestAccount, ...returnOrigins: string[]) {
  const { version: _, logo: __, ...empty } = NO_BRAND
  const shop: Shop = { ...empty, returnOrigins }
  return changeShop(w.ctx, OWNER, { accountId, version: 0 }, shop)
}

function sendLogo(w: World, { cookie }: TestSession, version: number, payload: Buffer) {
  const headers = { cookie, origin: 'https://guiche.example', 'content-type': 'application/octet-stream' }
  return w.app.inject({ method: 'PUT', url: `${URL}/logo?version=${version}`, headers, payload })
}

// ---- Settings ----

test('an account that says nothing has its own name and no brand, and what an owner saves is what members and keys read', async () => {
  const { w, account, session } = await opened()
  const { accountName } = account.caller
  expect((await session.ask('GET', URL)).json().shop).toEqual({ ...EMPTY, name: accountName, logoUrl: null })
  expect(await w.count('brands')).toBe(0)

  const saved = await session.ask('PUT', URL, FULL)
  const shop = {
    ...FULL,
    version: 1,
    name: 'Loja Aurora',
    logoUrl: null,
    color: '#c2185b',
    cnpj: '12ABC34501DE35',
    supportPhone: '+5511999998888',
    returnOrigins: ['https://aurora.example', 'http://localhost:3000'],
  }
  expect([saved.statusCode, saved.json().shop]).toEqual([200, shop])
  const cashier = await w.session(await join(w, account.accountId, 'cashier'))
  expect((await cashier.ask('GET', URL)).json().shop).toEqual(shop)
  expect((await w.app.inject(get(account.key, '/api/shop'))).json().shop).toEqual(shop)
  // Nothing changes, so nothing is written.
  expect((await session.ask('PUT', URL, { ...FULL, version: 1 })).json().shop).toEqual(shop)
  expect(await w.count('audit_log', `action = 'account.brand_changed'`)).toBe(1)
  expect(await w.differences()).toEqual([])
})

test('a change by somebody else in between is not lost without a word', async () => {
  const { session } = await opened()
  expect((await session.ask('PUT', URL, FULL)).statusCode).toBe(200)
  const late = await session.ask('PUT', URL, { ...EMPTY, displayName: 'Other' })
  expect([late.statusCode, late.json().code, late.json().details]).toEqual([409, 'shop_changed', { version: 1 }])
  expect((await session.ask('GET', URL)).json().shop.displayName).toBe('Loja Aurora')
})

test.each([
  ['displayName', ''],
  ['displayName', ' '],
  ['displayName', 'x'.repeat(61)],
  ['displayName', 'Loja\u{202e}arorua'],
  ['displayName', 'Loja\u{200b}Aurora'],
  ['displayName', 'Loja\nAurora'],
  ['color', 'red'],
  ['color', '#fff'],
  ['color', '#08745a;}body{display:none}'],
  ['cnpj', '11.222.333/0001-80'],
  ['supportEmail', 'ajuda@'],
  ['supportEmail', 'a@b.example?bcc=eve@evil.example'],
  ['supportPhone', 'javascript:alert(1)'],
  ['supportPhone', '123'],
  ['supportUrl', 'javascript:alert(1)'],
  ['supportUrl', 'http://aurora.example'],
  ['supportUrl', 'data:text/html,<script>alert(1)</script>'],
  ['supportUrl', 'https://aurora.example@evil.example'],
  ['supportUrl', 'https://aurora.example\\evil'],
  ['defaultDescription', 'x'.repeat(141)],
  ['defaultDescription', 'a\u{2066}b'],
  ['defaultExpiresIn', 299],
  ['defaultExpiresIn', 2_592_001],
  ['language', 'fr'],
  ['returnOrigins', ['https://aurora.example/cart']],
  ['returnOrigins', ['javascript:alert(1)']],
  ['returnOrigins', ['http://aurora.example']],
  ['returnOrigins', Array.from({ length: 21 }, (_, index) => `https://a${index}.example`)],
])('a hostile or mistaken %s is refused by its name: %j', async (field, value) => {
  const { w, session } = await opened()
  const answer = await session.ask('PUT', URL, { ...EMPTY, [field]: value })
  const { code, details } = answer.json()
  expect([answer.statusCode, code, details.field.split('/')[0]]).toEqual([400, 'field_invalid', field])
  expect(await w.count('brands')).toBe(0)
})

test('the audit log says who changed what, and keeps no name or contact that it could not forget', async () => {
  const { w, account, session } = await opened()
  await session.ask('PUT', URL, FULL)
  const { rows } = await w.pool.query(`select actor, details from audit_log where action = 'account.brand_changed'`)
  expect(rows).toHaveLength(1)
  expect(rows[0].actor).toBe(account.email)
  expect(rows[0].details.changed).toEqual(expect.arrayContaining(['displayName', 'supportEmail', 'returnOrigins']))
  expect(rows[0].details.after).toEqual({ returnOrigins: ['https://aurora.example', 'http://localhost:3000'] })
  expect(JSON.stringify(rows[0].details)).not.toMatch(/Aurora|ajuda|99999/)
})

test('a brand that somebody else wrote into the database is named by the audit', async () => {
  const { w, session } = await opened()
  await session.ask('PUT', URL, FULL)
  await corrupt(w, `update brands set return_origins = '{https://evil.example}'`)
  expect(await w.differences()).toEqual([expect.objectContaining({ check: 'row' })])
})

test('an erased account leaves nothing of its brand, and an export has it', async () => {
  const { w, account, session } = await opened()
  await session.ask('PUT', URL, FULL)
  const { logoUrl } = (await sendLogo(w, session, 1, grey(2, 2))).json().shop
  let exported = ''
  for await (const piece of exportAccount(w.ctx, account.accountId)) exported += piece
  expect(JSON.parse(exported).brand).toEqual([expect.objectContaining({ display_name: 'Loja Aurora' })])

  await suspendAccount(w.ctx, CONSOLE, account.accountId, 'closed by request')
  w.clock.advance(61_000)
  await eraseAccount(w.ctx, CONSOLE, { accountId: account.accountId }, 'asked for it')
  const { rows } = await w.pool.query('select to_jsonb(b)::text as text from brands b')
  expect(rows[0].text).not.toMatch(/Aurora|aurora|ajuda|5511999998888|12ABC/)
  expect(await w.count('brand_logos')).toBe(0)
  expect((await w.app.inject(logoUrl.slice('https://guiche.example'.length))).statusCode).toBe(404)
  expect(await w.differences()).toEqual([])
})

// ---- Logo ----

test('a logo is served as a picture and nothing else, until another takes its place', async () => {
  const { w, account, session } = await opened()
  const noted = pngOf(pngHeader(1, 1), pngChunk('tEXt', Buffer.from('GPS\0-23.5')), grey(1, 1).subarray(33, -12))
  const first = await sendLogo(w, session, 0, noted)
  const { logoUrl, version } = first.json().shop
  expect([first.statusCode, version]).toEqual([200, 1])
  expect(logoUrl).toMatch(/^https:\/\/guiche\.example\/brand\/[0-9a-f]{64}\.png$/)
  const path = logoUrl.slice('https://guiche.example'.length)
  const picture = await w.app.inject(path)
  expect(picture.rawPayload).toEqual(grey(1, 1))
  expect(picture.headers).toMatchObject({
    'content-type': 'image/png',
    'x-content-type-options': 'nosniff',
    'content-disposition': 'inline',
    'cache-control': 'public, max-age=31536000, immutable',
    'content-security-policy': expect.stringMatching(/^default-src 'none'.*; sandbox$/),
  })
  const charge = await w.deposit(account)
  const page = await w.app.inject(`/payment-link/${charge.paymentLinkId}`)
  expect(page.body).toContain(`<img src="${path}" alt="" />`)

  expect((await sendLogo(w, session, 1, grey(2, 2))).statusCode).toBe(200)
  expect((await w.app.inject(path)).statusCode).toBe(404)
  const gone = await session.ask('DELETE', `${URL}/logo?version=2`)
  expect(gone.json().shop).toMatchObject({ logoUrl: null, version: 3 })
  expect(await w.count('brand_logos')).toBe(0)
  expect(await w.differences()).toEqual([])
})

test.each([
  ['an SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'), 'type'],
  ['nothing', Buffer.alloc(0), 'type'],
  ['a picture with a script behind it', Buffer.concat([grey(1, 1), Buffer.from('<script>')]), 'damaged'],
  ['an animation', pngOf(pngHeader(1, 1), pngChunk('acTL', Buffer.alloc(8))), 'animated'],
  ['a picture that is too wide', grey(2_001, 1), 'too_large'],
])('%s is refused as a logo, and the old one stays', async (_, bytes, reason) => {
  const { w, session } = await opened()
  await sendLogo(w, session, 0, grey(2, 2))
  const answer = await sendLogo(w, session, 1, bytes)
  expect([answer.statusCode, answer.json().code, answer.json().details]).toEqual([400, 'logo_refused', { reason }])
  expect((await session.ask('GET', URL)).json().shop.version).toBe(1)
})

test('a file of more than 256 KiB is not read', async () => {
  const { w, session } = await opened()
  const answer = await sendLogo(w, session, 0, Buffer.alloc(256 * 1024 + 1))
  expect([answer.statusCode, answer.json().code]).toEqual([413, 'body_too_large'])
})

test('a logo that was altered in the database is not shown', async () => {
  const { w, session } = await opened()
  const { logoUrl } = (await sendLogo(w, session, 0, grey(2, 2))).json().shop
  const file = logoUrl.split('/').at(-1)
  expect((await readLogo(w.ctx, file))?.type).toBe('image/png')
  await corrupt(w, `update brand_logos set bytes = convert_to('<svg onload="alert(1)"/>', 'utf8')`)
  expect(await readLogo(w.ctx, file)).toBeUndefined()
  for (const other of ['x.png', `${'0'.repeat(64)}.svg`, `${'0'.repeat(64)}.constructor`, '../../etc/passwd'])
    expect([other, (await w.app.inject(`/brand/${encodeURIComponent(other)}`)).statusCode]).toEqual([other, 404])
})

// ---- The preview ----

test('the preview shows what is typed and saves nothing, and only a frame of our own pages does', async () => {
  const { w, session } = await opened()
  const query = new URLSearchParams({
    displayName: 'Loja <b>Nova</b>',
    color: '#ffff00',
    supportUrl: 'javascript:alert(1)',
    cnpj: '1',
    lang: 'es',
  })
  const answer = await session.ask('GET', `${URL}/preview?${query.toString()}`)
  expect(answer.body).toContain('Loja &lt;b&gt;Nova&lt;/b&gt;')
  expect(answer.body).toContain('<html lang="es">')
  expect(answer.body).not.toMatch(/<script|javascript:|<form/)
  expect(answer.headers['x-frame-options']).toBe('SAMEORIGIN')
  expect(answer.headers['content-security-policy']).toContain(`frame-ancestors 'self'`)
  expect(answer.headers['content-security-policy']).not.toContain('script-src')
  const headers = { cookie: session.cookie, 'sec-fetch-dest': 'document' }
  expect((await w.app.inject({ url: `${URL}/preview`, headers })).statusCode).toBe(404)
  const paid = await session.ask('GET', `${URL}/preview?view=paid`)
  expect(paid.body).toContain('data-state="COMPLETED"')
  expect(await w.count('brands')).toBe(0)
  expect(await w.count('charges')).toBe(0)
})

// ---- Return URLs ----

test('a deposit leads back only to an origin that an owner listed, and says so in records', async () => {
  const w = await world()
  const account = await w.account()
  const create = (returnUrl: unknown) => w.app.inject(deposit(account.key, JSON.stringify({ value: 5000, returnUrl })))
  const refused = await create('https://aurora.example/done')
  expect([refused.statusCode, refused.headers['guiche-error']]).toEqual([400, 'return_url_not_allowed'])
  expect(await w.count('charges')).toBe(0)

  await allow(w, account, 'https://aurora.example')
  const made = await create('https://aurora.example/done?order=1')
  expect(made.statusCode).toBe(201)
  const { paymentLinkId } = made.json().charge
  const record = await w.app.inject(get(account.key, `/api/deposits/${paymentLinkId}`))
  expect(record.json().deposit.returnUrl).toBe('https://aurora.example/done?order=1')
  const listed = await w.app.inject(get(account.key, '/api/deposits'))
  expect(listed.json().deposits[0].returnUrl).toBe('https://aurora.example/done?order=1')
  for (const none of [undefined, null]) expect((await create(none)).statusCode).toBe(201)
  expect(await w.differences()).toEqual([])
})

test.each([
  ['https://evil.example/', 'return_url_not_allowed'],
  ['https://aurora.example.evil.example/', 'return_url_not_allowed'],
  ['https://aurora.example:8443/', 'return_url_not_allowed'],
  ['https://sub.aurora.example/', 'return_url_not_allowed'],
  ['https://аurora.example/', 'return_url_not_allowed'], // with a Cyrillic а
  ['http://aurora.example/', 'field_invalid'],
  ['https://user:word@aurora.example/', 'field_invalid'],
  ['https://aurora.example\\@evil.example/', 'field_invalid'],
  ['javascript:alert(1)//https://aurora.example', 'field_invalid'],
  ['data:text/html,x', 'field_invalid'],
  ['//aurora.example/', 'field_invalid'],
  ['/done', 'field_invalid'],
  ['', 'field_invalid'],
  ['https://aurora.example/ x', 'field_invalid'],
  ['https://aurora.example/\u{202e}', 'field_invalid'],
  [`https://aurora.example/${'x'.repeat(2_030)}`, 'field_invalid'],
  // Short enough as it is typed, and too long as browsers write it.
  [`https://aurora.example/${'é'.repeat(600)}`, 'field_invalid'],
])('a deposit cannot lead back to %j', async (returnUrl, code) => {
  const w = await world()
  const account = await w.account()
  await allow(w, account, 'https://aurora.example')
  const answer = await w.app.inject(deposit(account.key, JSON.stringify({ value: 5000, returnUrl })))
  expect([answer.statusCode, answer.headers['guiche-error']]).toEqual([400, code])
  expect(await w.count('charges')).toBe(0)
})

test('this machine is a place to come back to in the sandbox, and not where money is real', async () => {
  const { w, session } = await opened()
  const live = await appWith({ ...w.ctx, settings: { ...w.ctx.settings, mode: 'live' } })
  const wanted = { ...EMPTY, returnOrigins: ['http://localhost:3000'] }
  const headers = { cookie: session.cookie, origin: 'https://guiche.example' }
  const refused = await live.inject({ method: 'PUT', url: URL, headers, payload: wanted })
  expect([refused.statusCode, refused.json().code]).toEqual([400, 'field_invalid'])
  expect((await session.ask('PUT', URL, wanted)).statusCode).toBe(200)
})

test('a repeated request gets its deposit, although the origin was taken off the list', async () => {
  const w = await world()
  const account = await w.account()
  await allow(w, account, 'https://aurora.example')
  const body = JSON.stringify({ value: 5000, returnUrl: 'https://aurora.example/' })
  const send = (key: string) => w.app.inject(deposit(account.key, body, { 'idempotency-key': key }))
  const made = await send('first')
  const { version: _, logo: __, ...empty } = NO_BRAND
  await changeShop(w.ctx, OWNER, { accountId: account.accountId, version: 1 }, empty)
  const again = await send('first')
  expect([again.statusCode, again.json().charge.id]).toEqual([201, made.json().charge.id])
  expect((await send('second')).statusCode).toBe(400)
  await cancelDeposit(w.ctx, account.accountId, made.json().charge.paymentLinkId)
  expect((await w.app.inject({ url: '/api/shop', headers: bearer(account.key) })).json().shop.returnOrigins).toEqual([])
})
