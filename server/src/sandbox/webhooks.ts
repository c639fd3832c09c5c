import { isRecord, problem, violation, type Answer, type Call } from './answer.ts'
import { isText } from './charge-body.ts'
import { record, type Psp } from './psp.ts'

const URL_MAX = 2048
// API Pix requires it in the answer.
const CNPJ = '00000000000000'

// PUT /webhook/{chave}. A sandbox's receiver is on the same machine, so plain http is accepted.
export function setWebhook(psp: Psp, call: Call): Answer {
  const [chave = ''] = call.params
  const webhookUrl = isRecord(call.body) ? call.body['webhookUrl'] : undefined
  if (!isText(chave, 77, 1)) return refused('chave', 'Deve ter de 1 a 77 caracteres.', chave)
  if (!isText(webhookUrl, URL_MAX, 1) || !isHttpUrl(webhookUrl)) {
    return refused('webhook.webhookUrl', 'Deve ser uma URL http ou https.', webhookUrl)
  }
  const seq = record(psp, { kind: 'webhook', webhook: { chave, webhookUrl, criacao: psp.now().toISOString() } })
  return { status: 200, seq }
}

// GET /webhook/{chave}
export function readWebhook(psp: Psp, call: Call): Answer {
  const webhook = psp.book.webhooks.get(call.params[0] ?? '')
  if (!webhook) return notFound()
  return { status: 200, body: { ...webhook, cnpj: CNPJ }, seq: psp.journal.lastSeq() }
}

// DELETE /webhook/{chave}
export function deleteWebhook(psp: Psp, call: Call): Answer {
  const [chave = ''] = call.params
  if (!psp.book.webhooks.has(chave)) return notFound()
  return { status: 204, seq: record(psp, { kind: 'unhook', chave }) }
}

// Appended even after a query, as banks do.
export function notificationUrl(psp: Psp, chave: string): string | undefined {
  const url = psp.book.webhooks.get(chave)?.webhookUrl
  return url === undefined ? undefined : `${url.replace(/\/$/, '')}/pix`
}

const isHttpUrl = (text: string): boolean => URL.canParse(text) && /^https?:\/\//i.test(text)

const notFound = (): Answer => problem('WebhookNaoEncontrado', 'Esta chave não tem webhook.')

const refused = (property: string, reason: string, value: unknown): Answer =>
  problem('WebhookOperacaoInvalida', 'O webhook não pode ser configurado assim.', [violation(property, reason, value)])
