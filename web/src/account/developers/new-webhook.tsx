import { useMutation, useQueryClient } from '@tanstack/react-query'
import { post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import type { Webhook, WebhookTest } from '../../contract/types.ts'
import { Secret, ShownOnce } from '../../ui/form/shown-once.tsx'
import { Notice } from '../../ui/notice.tsx'
import { TestResult } from './test-result.tsx'
import { webhooksQuery } from './webhook-events.ts'
import { WebhookForm, type WebhookFields } from './webhook-form.tsx'

const useTexts = translations({
  'pt-BR': {
    title: 'Adicionar webhook',
    add: 'Salvar e testar',
    madeTitle: 'Webhook adicionado',
    once: 'Copie o segredo agora: seu sistema confere as assinaturas com ele. Ele não será mostrado de novo.',
    secret: 'Segredo de assinatura',
    copy: 'Copiar segredo',
    fix: 'O webhook foi salvo mesmo assim. Corrija seu sistema e envie outro teste.',
  },
  en: {
    title: 'Add webhook',
    add: 'Save and test',
    madeTitle: 'Webhook added',
    once: 'Copy the secret now: your system verifies signatures with it. It won’t be shown again.',
    secret: 'Signing secret',
    copy: 'Copy secret',
    fix: 'The webhook was saved anyway. Fix your system and send another test.',
  },
})

/** A form, and then the result of the test and the signing secret, once. */
export function NewWebhook({ onClose }: { onClose: () => void }) {
  const t = useTexts()
  const queryClient = useQueryClient()
  const add = useMutation({
    // Nothing remembers the secret once this is closed.
    gcTime: 0,
    mutationFn: ({ name, url, events, authorization }: WebhookFields) =>
      post<{ webhook: Webhook; secret: string; test: WebhookTest }>('/webhooks', {
        url,
        events,
        ...(name && { name }),
        ...(authorization.trim() && { authorization: authorization.trim() }),
      }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey }),
  })
  if (!add.data)
    return <WebhookForm title={t.title} action={t.add} sending={add} onSend={add.mutate} onClose={onClose} />
  const { test, secret } = add.data
  return (
    <ShownOnce title={t.madeTitle} warning={t.once} onClose={onClose}>
      <TestResult test={test} />
      <Secret label={t.secret} text={secret} copyLabel={t.copy} />
      {!test.delivered && <Notice>{t.fix}</Notice>}
    </ShownOnce>
  )
}
