import { useMutation, useQueryClient } from '@tanstack/react-query'
import { post } from '../../base/api.ts'
import { words } from '../../base/language.ts'
import { Notice } from '../../ui/notice.tsx'
import { webhooksQuery, type TestResult, type Webhook } from './shapes.ts'
import { ShownOnce } from './shown-once.tsx'
import { TestOutcome } from './test-outcome.tsx'
import { WebhookForm, type WebhookFields } from './webhook-form.tsx'

const useWords = words({
  'pt-BR': {
    title: 'Adicionar webhook',
    add: 'Salvar e testar',
    madeTitle: 'Webhook adicionado',
    once: 'Copie o segredo agora: com ele o seu sistema confere a assinatura, e ele não será mostrado de novo.',
    secret: 'Segredo de assinatura',
    copy: 'Copiar segredo',
    fix: 'O webhook foi salvo assim mesmo. Corrija o destino e envie outro teste.',
  },
  en: {
    title: 'Add a webhook',
    add: 'Save and test',
    madeTitle: 'The webhook is added',
    once: 'Copy the secret now: with it your system checks the signature, and it will not be shown again.',
    secret: 'Signing secret',
    copy: 'Copy the secret',
    fix: 'The webhook is saved all the same. Mend the receiver, and send another test.',
  },
})

/** A form, and then what came of the test and the signing secret, this once. */
export function NewWebhook({ onClose }: { onClose: () => void }) {
  const t = useWords()
  const queryClient = useQueryClient()
  const add = useMutation({
    // Nothing remembers the secret once this is closed.
    gcTime: 0,
    mutationFn: ({ name, url, events, authorization }: WebhookFields) =>
      post<{ webhook: Webhook; secret: string; test: TestResult }>('/webhooks', {
        url,
        events,
        ...(name && { name }),
        ...(authorization.trim() && { authorization: authorization.trim() }),
      }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey }),
  })
  if (!add.data) return <WebhookForm title={t.title} action={t.add} send={add} onClose={onClose} />
  const { test, secret } = add.data
  return (
    <ShownOnce
      title={t.madeTitle}
      warning={t.once}
      label={t.secret}
      text={secret}
      copyLabel={t.copy}
      onClose={onClose}
      before={<TestOutcome test={test} />}
      after={!test.delivered && <Notice>{t.fix}</Notice>}
    />
  )
}
