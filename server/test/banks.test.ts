import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { hexFromUuid, newUuid7 } from '../src/base/ids.ts'
import { settingsFor } from '../src/commands/sandbox.ts'
import { loadProviders } from '../src/config/providers.ts'
import type { Provider, ProviderError } from '../src/domain/ports/provider.ts'
import { makeApiPix, type ApiPixOptions } from '../src/providers/api-pix/adapter.ts'
import { BANK_NAMES, BANK_PROFILES, type BankName } from '../src/providers/api-pix/banks/bank-profiles.ts'
import type { BankProfile } from '../src/providers/api-pix/banks/bank-profile.ts'
import { BANK_LIST, BANKS } from '../src/sandbox/banks.ts'
import type { Sandbox } from '../src/sandbox/server.ts'
import { eventually, open, receiver, send } from './sandbox-client.ts'

// The adapter with the profile of each bank, against a sandbox that takes the ways of that bank and no other.

const undone: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const work of undone.toReversed()) await work()
})
const opened = new Map<BankName, Promise<Sandbox>>()

function sandboxAs(bank: BankName): Promise<Sandbox> {
  const sandbox = opened.get(bank) ?? open({ as: bank }, (work) => undone.push(work))
  opened.set(bank, sandbox)
  return sandbox
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** As the lines that `guiche sandbox --as` prints set it up, with another profile if one is named. */
function connect(sandbox: Sandbox, profile: BankName, changes: Record<string, string> = {}): Provider {
  const changed = Object.entries(changes).map(([name, value]) => [`PROVIDER_SANDBOX_${name}`, value])
  const env = Object.fromEntries([...settingsFor(profile, sandbox), ...changed])
  const [config] = loadProviders(env) as (ApiPixOptions & { kind: string })[]
  const timings = { backoffBaseMs: 1, readAttempts: 1, writeAttempts: 1 }
  const provider = makeApiPix({ ...config!, now: () => new Date(), log: silent, timings })
  undone.push(() => provider.close())
  return provider
}

const newCharge = () => {
  const txid = hexFromUuid(newUuid7(new Date()))
  return { txid, valueCents: 10_00, expiresInSeconds: 3_600, description: null }
}

/** Everything that guiche asks of a bank. */
async function useBank(provider: Provider, sandbox: Sandbox, hook: string) {
  await provider.registerNotifications(hook)
  const charge = newCharge()
  await provider.create(charge)
  const { body } = await send(`${sandbox.url}/bank/pay`, { method: 'POST', body: { txid: charge.txid } })
  const [{ endToEndId }] = body.pix
  const refunded = { endToEndId, refundId: 'R1', amountCents: 1_00 }
  const received = []
  const window = { from: new Date(Date.now() - 60_000), to: new Date(Date.now() + 60_000) }
  for await (const page of provider.listReceived(window)) received.push(...page.map((payment) => payment.endToEndId))
  const second = newCharge()
  await provider.create(second)
  return {
    endToEndId,
    charge: await provider.check(charge.txid),
    found: await provider.findPayment(endToEndId),
    received,
    refund: await provider.refund(refunded),
    refundFound: await provider.checkRefund(refunded),
    canceled: await provider.cancel(second.txid),
  }
}

test('providers.md shows every profile as it is', () => {
  const path = new URL('../../docs/providers.md', import.meta.url)
  const table = BANK_NAMES.map((name) => rowOf(name, BANK_PROFILES[name])).join('')
  const head = '| `BANK` | bank | logs in by | wants | known addresses | you also set |\n|---|---|---|---|---|---|\n'
  const text = readFileSync(path, 'utf8')
  const marks = /(<!-- Generated from [^>]*banks[^>]*-->\n)[^]*?(?=<!-- end -->)/
  const expected = text.replace(marks, (_, mark: string) => `${mark}\n${head}${table}\n`)
  if (process.env['UPDATE_DOCS']) writeFileSync(path, expected)
  const update = 'run `UPDATE_DOCS=1 npx vitest run test/banks.test.ts` and commit it'
  expect(readFileSync(path, 'utf8') === expected, `providers.md is stale: ${update}`).toBe(true)
})

function rowOf(name: string, profile: BankProfile): string {
  const { title, auth, scope, tokenQuery, headers, webhookHeaders, live, test: trial, runAtBank } = profile
  const login = { basic: 'HTTP Basic', body: 'id and secret in the form', certificate: 'id and certificate, no secret' }
  const names = (values: object) => Object.keys(values).map((header) => `\`${header}\``)
  const wants = [
    ...(tokenQuery.length > 0
      ? [`${tokenQuery.map((part) => `\`${part}\``).join(' and ')} in the query of the token`]
      : []),
    ...(scope === '' ? ['no scope'] : []),
    ...(names(headers).length > 0 ? [`headers ${names(headers).join(', ')}`] : []),
    ...(names(webhookHeaders).length > 0 ? [`${names(webhookHeaders).join(', ')} to register notifications`] : []),
  ]
  const known = ([environment, { url, tokenUrl }]: [string, BankProfile['live']]) =>
    url && tokenUrl ? [environment] : url ? [`${environment}, without the token URL`] : []
  const addresses = Object.entries({ live, test: trial }).flatMap(known)
  const own = [
    ...(live.asksQuery ? [`\`QUERY=${live.asksQuery}=…\`, in tests \`${trial.asksQuery}\``] : []),
    ...(live.tokenUrl ? [] : ['`TOKEN_URL`']),
    ...(trial.needsCertificate ? [] : ['in tests no certificate']),
  ]
  const cells = [`\`${name}\``, `${title}${runAtBank ? `, run on ${runAtBank}` : ''}`, login[auth], wants.join('; ')]
  return `| ${[...cells, addresses.join(', '), own.join('; ')].map((cell) => cell || '–').join(' | ')} |\n`
}

test('the sandbox knows every bank that has a profile, below the paths that the profile calls', () => {
  expect(BANK_LIST).toEqual(BANK_NAMES)
  for (const name of BANK_NAMES) {
    const { live, title }: BankProfile = BANK_PROFILES[name]
    const path = (url: string | undefined) => url && new URL(url).pathname
    const { basePath, tokenPath } = BANKS[name]
    expect([path(live.url) ?? basePath, path(live.tokenUrl) ?? tokenPath, title]).toEqual([
      basePath,
      tokenPath,
      BANKS[name].title,
    ])
  }
})

describe.each(BANK_NAMES)('%s', (bank) => {
  test('is used from its token to its notifications, in its own way', async () => {
    const sandbox = await sandboxAs(bank)
    const provider = connect(sandbox, bank)
    const { url, bodies, heard } = await receiver()
    const { endToEndId, ...used } = await useBank(provider, sandbox, url)
    expect(used).toMatchObject({
      charge: { status: 'paid', payments: [{ endToEndId, amountCents: 10_00 }] },
      found: { endToEndId },
      received: expect.arrayContaining([endToEndId]),
      refund: { refundId: 'R1', amountCents: 1_00 },
      refundFound: { refundId: 'R1' },
      canceled: 'withdrawn',
    })
    await eventually(() => heard().includes(endToEndId))
    const request = { headers: {}, body: Buffer.from(JSON.stringify(bodies[0])) }
    expect(await provider.readNotification(request)).toMatchObject([{ endToEndId }])
    expect(provider.accessProblem?.()).toBeUndefined()
  })

  test('refuses to be called as any other bank, and says why', async () => {
    const sandbox = await sandboxAs(bank)
    const { title } = BANKS[bank]
    for (const other of BANK_NAMES.filter((name) => name !== bank)) {
      const used = useBank(connect(sandbox, other), sandbox, 'http://127.0.0.1:9/hook')
      const answer = await used.then(
        () => 'taken',
        (error: ProviderError) => `${error.outcome}: ${error.message}`,
      )
      // The adapter shows the bank's own sentence.
      expect([other, answer]).toEqual([other, expect.stringMatching(new RegExp(`^refused: .*${title}`))])
    }
  })

  test('refuses a customer without a certificate, or with that of another authority', async () => {
    const sandbox = await sandboxAs(bank)
    const { files } = (await sandboxAs(bank === 'efi' ? 'inter' : 'efi')).customer!
    const stranger = connect(sandbox, bank, { CERT: files.cert, CERT_KEY: files.key })
    await expect(stranger.check(newCharge().txid)).rejects.toMatchObject({ outcome: 'refused' })
    const plain = sandbox.customer!.tokenUrl.replace('https:', 'http:')
    const answer = await fetch(plain, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
    expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('client certificate')])
  })
})
