import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { queryDeposit } from '../../src/domain/deposits/query-deposit.ts'
import { isWellFormedKey } from '../../src/domain/accounts/callers.ts'
import { startDeliverWorker } from '../../src/workers/deliver.ts'
import { startNumberWorker } from '../../src/workers/number.ts'
import { enter, expectAccessible, overflowPx, serve, useChromium, visit } from '../chromium.ts'
import { startReceiver } from '../receiver.ts'
import { bearer } from '../requests.ts'
import { holds } from '../webhooks-client.ts'
import { until, type World } from '../world.ts'

// These tests use the section "API and webhooks" as account holders do: in a browser, from signing in to an event that
// arrived.

useChromium()

const WORDS = {
  'pt-BR': {
    section: 'API e webhooks',
    create: 'Criar chave',
    name: 'Nome',
    copy: 'Copiar chave',
    copied: 'Copiado',
    done: 'Já copiei',
    revoke: 'Revogar',
  },
  en: {
    section: 'API and webhooks',
    create: 'Create key',
    name: 'Name',
    copy: 'Copy key',
    copied: 'Copied',
    done: 'I copied it',
    revoke: 'Revoke',
  },
}
type Language = keyof typeof WORDS

test.each(['pt-BR', 'en'] as const)('a key is made, copied and used, and never seen again (%s)', async (language) => {
  const { w, url, page, errors, answers } = await signedIn(language)
  const t = WORDS[language]
  await page.goto(`${url}/`)
  await page.getByRole('link', { name: t.section }).click()
  await page.getByRole('button', { name: t.create }).click()
  await page.getByLabel(t.name).fill('Loja, produção')
  await page
    .getByRole('dialog')
    .getByRole('button')
    .filter({ hasText: /^(Criar chave|Create key)$/ })
    .click()
  await page.getByRole('button', { name: t.copy }).click()
  await page.getByRole('button', { name: t.copied, exact: true }).waitFor()
  const key = await page.evaluate<string>('navigator.clipboard.readText()')
  expect(isWellFormedKey(key)).toBe(true)
  await expectAccessible(page, 'the key on its only appearance')

  // The command in the dialog is ready to run, against the address of the page.
  const line = (await page.getByRole('dialog').locator('pre').textContent()) ?? ''
  expect(line).toContain(`curl ${url}/api/deposit`)
  expect(line).toContain(`Authorization: Bearer ${key}`)
  expect((await useKey(url, key)).status).toBe(201)

  // The dialog closes only when the user says that the key was copied.
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').getByRole('alert').waitFor()
  expect(await page.content()).toContain(key)
  answers.length = 0
  await page.getByRole('button', { name: t.done }).click()
  await page
    .getByRole('row', { name: /Loja, produção/ })
    .getByText(`${key.slice(0, 14)}…`)
    .waitFor()
  expect(await page.content()).not.toContain(key)
  for (const path of ['/developers', '/developers/webhooks', '/']) {
    await page.goto(url + path)
    await page.waitForLoadState('networkidle')
    expect([path, (await page.content()).includes(key)]).toEqual([path, false])
  }
  expect(answers.length).toBeGreaterThan(5)
  expect((await Promise.all(answers)).filter((text) => text.includes(key))).toEqual([])
  expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage])')).not.toContain(key)

  await page.goto(`${url}/developers`)
  await page.getByRole('button', { name: `${t.revoke} Loja, produção` }).click()
  await page.getByRole('dialog').getByRole('button', { name: t.revoke }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  w.clock.advance(2_000)
  expect((await useKey(url, key)).status).toBe(401)
  expect(errors).toEqual([])
})

test('a webhook is added and tested, a payment is delivered to it, and its delivery can be read and sent again', async () => {
  const { w, url, page, errors, accountId } = await signedIn('pt-BR')
  const receiver = await startReceiver((_, response) => void response.end('{"received":true}'))
  await page.goto(`${url}/developers/webhooks`)
  await page.getByRole('button', { name: 'Adicionar webhook' }).click()
  await page.getByLabel('URL').fill(receiver.url)
  await page.getByLabel('Nome').fill('Loja')
  await page.getByLabel('Cabeçalho Authorization').fill('Bearer of-the-shop')
  await page.getByRole('button', { name: 'Salvar e testar' }).click()
  await page.getByText('Evento de teste entregue').waitFor()
  await page.getByText(/^Respondeu 200 em \d+ ms\.$/).waitFor()
  expect(await page.getByRole('dialog').locator('pre').textContent()).toBe('{"received":true}')
  await page.getByRole('button', { name: 'Copiar segredo' }).click()
  await page.getByRole('button', { name: 'Copiado' }).waitFor()
  const secret = await page.evaluate<string>('navigator.clipboard.readText()')
  expect(holds(secret, receiver.received[0]!)).toBe(true)
  await page.getByRole('button', { name: 'Já copiei' }).click()
  await page.getByRole('listitem').getByText('Ativo').waitFor()

  // The log is open while the deposit is paid.
  await page.getByRole('link', { name: 'Entregas' }).click()
  await page.getByRole('row', { name: /Teste Entregue Loja 200/ }).waitFor()
  const charge = await payDeposit(w, accountId)
  const [, first] = await receiver.got(2)
  await page.getByRole('row', { name: /Depósito pago Entregue Loja 200/ }).click()
  await page.getByRole('heading', { name: 'Depósito pago' }).waitFor()
  const body = page.getByRole('region', { name: 'Corpo' })
  expect(JSON.parse((await body.textContent())!)).toEqual(JSON.parse(first!.body))
  expect(first!.body).toContain(charge.paymentLinkId)
  const headers = (await page.getByRole('region', { name: 'Cabeçalhos' }).textContent()) ?? ''
  expect(headers).toContain(`webhook-id: ${first!.id}`)
  expect(headers).not.toContain('of-the-shop')
  expect(headers).not.toContain(first!.headers['webhook-signature'])
  expect(await page.getByRole('region', { name: 'Resposta à tentativa 1' }).textContent()).toBe('{"received":true}')

  w.clock.advance(60_000)
  await page.getByRole('button', { name: 'Reenviar' }).click()
  const [, , second] = await receiver.got(3)
  expect([second!.id, second!.body]).toEqual([first!.id, first!.body])
  // A resend continues the numbers of the attempts.
  await page.getByRole('heading', { name: 'Tentativa 2' }).waitFor()
  expect(await page.getByRole('heading', { name: /^Tentativa / }).allTextContents()).toEqual([
    'Tentativa 2',
    'Tentativa 1',
  ])
  expect((await page.content()).includes(secret)).toBe(false)
  expect(errors).toEqual([])
})

test('the kinds of events are chosen by name, with what each tells, at the width of a phone', async () => {
  const { w, url, page, errors } = await signedIn('pt-BR')
  const receiver = await startReceiver()
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(`${url}/developers/webhooks`)
  await page.getByRole('button', { name: 'Adicionar webhook' }).click()
  await page.getByLabel('URL').fill(receiver.url)
  expect(await page.getByLabel('Depósito pago').isChecked()).toBe(true)
  await page.getByLabel('Pagamento em análise').check()
  await page.getByText('como um valor errado ou um segundo pagamento').waitFor()
  expect(await overflowPx(page)).toBe(0)
  await expectAccessible(page, 'the form with all kinds')
  await page.getByRole('button', { name: 'Salvar e testar' }).click()
  await page.getByText('Evento de teste entregue').waitFor()
  expect(await w.count('webhooks', `event_kinds = '{DEPOSIT_ASSET_SUCCESS,DEPOSIT_HELD}'`)).toBe(1)
  expect(errors).toEqual([])
})

test('a failing webhook is noticed, disabled, fixed and enabled, and then gets what it missed', async () => {
  const { w, url, page, errors, accountId } = await signedIn('pt-BR')
  let isBroken = true
  const receiver = await startReceiver((_, response) => void response.writeHead(isBroken ? 500 : 200).end())
  await page.goto(`${url}/developers/webhooks`)
  await page.getByRole('button', { name: 'Adicionar webhook' }).click()
  await page.getByLabel('URL').fill(receiver.url)
  await page.getByLabel('Nome').fill('ERP')
  await page.getByRole('button', { name: 'Salvar e testar' }).click()
  await page.getByText('O webhook recusou o evento de teste').waitFor()
  await page.getByRole('button', { name: 'Já copiei' }).click()
  await payDeposit(w, accountId)
  await receiver.got(2)
  await until('the failure is noted', () => w.count('webhooks', 'failing_since is not null').then(Boolean))
  await page.reload()
  await page.getByText('Falhando').waitFor()
  await page.getByRole('link', { name: 'Entregas' }).click()
  await page.getByLabel('Situação').selectOption('Tentando de novo')
  await page.getByRole('row', { name: /Depósito pago Tentando de novo ERP 500/ }).waitFor()
  expect(page.url()).toBe(`${url}/developers/deliveries?status=retrying`)

  await page.getByRole('link', { name: 'Webhooks', exact: true }).click()
  await choose(page, 'Desativar')
  await page.getByText('desativado pelo titular da conta').waitFor()
  await payDeposit(w, accountId)
  isBroken = false
  await choose(page, 'Ativar')
  // One delivery failed, and one came while the webhook was disabled.
  await page.getByText('Webhook ativado; 2 entregas agendadas.').waitFor()
  await receiver.got(4)

  await page.getByRole('link', { name: 'Entregas' }).click()
  await page.getByRole('button', { name: 'Reenviar várias' }).click()
  await page.getByText('Nada a reenviar.').waitFor()
  await page.getByLabel('O que reenviar').selectOption('since')
  await page.getByLabel('Desde').fill('2026-03-01T00:00')
  await page.getByText('2 entregas serão reenviadas.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Reenviar' }).click()
  await page.getByText('2 entregas agendadas.', { exact: true }).waitFor()
  const received = await receiver.got(6)
  expect(new Set(received.slice(1).map(({ id }) => id)).size).toBe(2)
  expect(errors).toEqual([])
})

test('a secret is rotated in the dashboard: the new one is shown once, and for a while both sign', async () => {
  const { url, page, errors } = await signedIn('pt-BR')
  const receiver = await startReceiver()
  await page.goto(`${url}/developers/webhooks`)
  await page.getByRole('button', { name: 'Adicionar webhook' }).click()
  await page.getByLabel('URL').fill(receiver.url)
  await page.getByLabel('Nome').fill('ERP')
  await page.getByRole('button', { name: 'Salvar e testar' }).click()
  const shown = page.getByRole('region', { name: 'Segredo de assinatura' }).getByText(/^whsec_/)
  const before = (await shown.textContent()) ?? ''
  await page.getByRole('button', { name: 'Já copiei' }).click()
  await choose(page, 'Trocar segredo')
  await until('there is another secret', async () => (await shown.textContent()) !== before)
  const after = (await shown.textContent()) ?? ''
  await page.getByRole('button', { name: 'Já copiei' }).click()
  await page.getByRole('button', { name: 'Enviar teste a ERP' }).click()
  await page.getByText('Evento de teste entregue').waitFor()
  const [, test] = await receiver.got(2)
  expect([holds(before, test!), holds(after, test!)]).toEqual([true, true])
  await page.reload()
  await page.getByRole('heading', { name: 'ERP' }).waitFor()
  expect((await page.content()).includes(after)).toBe(false)
  expect(errors).toEqual([])
})

// ---- The service and a signed-in account holder ----

async function signedIn(language: Language) {
  const { w, url } = await serve()
  const account = await w.account()
  const workers = [startDeliverWorker(w.ctx), startNumberWorker(w.ctx)]
  onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.stop()))))
  const { page, errors } = await visit({
    locale: language,
    viewport: { width: 1280, height: 900 },
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const answers: Promise<string>[] = []
  page.on('response', (response) => {
    const { pathname } = new URL(response.url())
    // The stream has no end.
    if (pathname.startsWith('/dashboard/api') && !pathname.endsWith('/stream'))
      answers.push(response.text().catch(() => ''))
  })
  await enter(page, await w.session(account))
  return { w, url, page, errors, answers, accountId: account.accountId }
}

function useKey(url: string, key: string): Promise<Response> {
  return fetch(`${url}/api/deposit`, {
    method: 'POST',
    headers: { ...bearer(key), 'content-type': 'application/json' },
    body: '{"value": 5000}',
  })
}

/** Picks an action in the menu of the only webhook, and confirms it. */
async function choose(page: Page, act: string): Promise<void> {
  await page.getByRole('button', { name: 'Mais ações de ERP' }).click()
  await page.getByRole('menuitem', { name: act }).click()
  await page.getByRole('dialog').getByRole('button', { name: act }).click()
}

/** Makes a deposit that is paid at the bank and credited. */
async function payDeposit(w: World, accountId: string): Promise<{ paymentLinkId: string }> {
  const session = await w.session({ accountId })
  const { charge } = (await session.ask('POST', '/dashboard/api/deposit', { value: 5000 })).json()
  await w.sandbox.pay({ emv: charge.emv })
  await queryDeposit(w.ctx, accountId, charge.paymentLinkId)
  return charge
}
