import { useState } from 'react'
import { post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import type { WebhookTest } from '../../contract/types.ts'
import { Secret, ShownOnce } from '../../ui/form/form-dialog.tsx'
import { Notice } from '../../ui/notice.tsx'
import { TestResult } from './test-result.tsx'
import { webhooksQuery } from './webhook-events.ts'
import { WebhookForm, type WebhookFields } from './webhook-form.tsx'

const useTexts = translations({
  title: ['Adicionar webhook', 'Add webhook'],
  add: ['Salvar e testar', 'Save and test'],
  madeTitle: ['Webhook adicionado', 'Webhook added'],
  once: [
    'Copie o segredo agora: seu sistema confere as assinaturas com ele. Ele não será mostrado de novo.',
    'Copy the secret now: your system verifies signatures with it. It won’t be shown again.',
  ],
  secret: ['Segredo de assinatura', 'Signing secret'],
  copy: ['Copiar segredo', 'Copy secret'],
  fix: [
    'O webhook foi salvo mesmo assim. Corrija seu sistema e envie outro teste.',
    'The webhook was saved anyway. Fix your system and send another test.',
  ],
})

/** Shows a form, and then the result of the test and the signing secret, once. */
export function NewWebhook({ onClose }: { onClose: () => void }) {
  const t = useTexts()
  const [made, setMade] = useState<{ secret: string; test: WebhookTest }>()
  const add = async ({ name, url, events, authorization }: WebhookFields) => {
    const body = {
      url,
      events,
      ...(name && { name }),
      ...(authorization.trim() && { authorization: authorization.trim() }),
    }
    setMade(await post('/webhooks', body))
    await refresh(webhooksQuery.queryKey)
  }
  if (!made) return <WebhookForm title={t.title} action={t.add} onSend={add} onClose={onClose} />
  const { test, secret } = made
  return (
    <ShownOnce title={t.madeTitle} warning={t.once} onClose={onClose}>
      <TestResult test={test} />
      <Secret label={t.secret} text={secret} copyLabel={t.copy} />
      {!test.delivered && <Notice>{t.fix}</Notice>}
    </ShownOnce>
  )
}
