import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import type { EventKind } from '../../contract/codes.ts'
import type { WebhookTest } from '../../contract/types.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { FormDialog } from '../../ui/form/form-dialog.tsx'
import { Select } from '../../ui/form/form.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Skeleton } from '../../ui/page.tsx'
import { TestResult } from '../developers/test-result.tsx'
import { webhooksQuery } from '../developers/webhook-events.ts'
import { useEventName } from '../../ui/data/event-names.ts'

const useTexts = translations({
  title: (name: string) => [`Enviar o exemplo: ${name}`, `Send the example: ${name}`],
  text: [
    'Vai assinado e marcado como teste: nada aconteceu, e seu sistema não deve creditar nada.',
    'It is signed and marked as a test: nothing happened, and your system must credit nothing.',
  ],
  webhook: ['Webhook', 'Webhook'],
  send: ['Enviar', 'Send'],
  marks: (event: string) => [
    `O campo event é ${event}, o id começa com evt_test_ e test é true.`,
    `The field event is ${event}, the id begins with evt_test_ and test is true.`,
  ],
  none: ['Você ainda não tem webhooks.', 'You have no webhooks yet.'],
  add: ['Adicionar webhook', 'Add a webhook'],
})

/** Sends the example of a kind to a webhook, and shows the answer at once. */
export function SendSample({ kind, onClose }: { kind: EventKind; onClose: () => void }) {
  const t = useTexts()
  const name = useEventName()(kind)
  const webhooks = useQuery(webhooksQuery).data?.webhooks
  const [chosen, setChosen] = useState('')
  const [result, setResult] = useState<WebhookTest | null>(null)
  const webhookId = chosen || (webhooks?.[0]?.id ?? '')
  const send = async () => {
    setResult(null)
    const { test } = await post<{ test: WebhookTest }>(`/webhooks/${webhookId}/test`, { event: kind })
    setResult(test)
  }
  return (
    <FormDialog
      title={t.title(name)}
      text={t.text}
      action={t.send}
      canSend={webhookId !== ''}
      onSend={send}
      onClose={onClose}
    >
      {!webhooks && <Skeleton className="block! h-12 w-full" />}
      {webhooks?.length === 0 && (
        <Notice
          action={
            <ButtonLink size="small" to="/developers/webhooks">
              {t.add}
            </ButtonLink>
          }
        >
          {t.none}
        </Notice>
      )}
      {webhooks && webhooks.length > 0 && (
        <Select
          label={t.webhook}
          hint={t.marks(`TEST_${kind}`)}
          value={webhookId}
          onChange={setChosen}
          choices={webhooks.map((webhook) => ({ value: webhook.id, label: webhook.name }))}
        />
      )}
      {result && <TestResult test={result} />}
    </FormDialog>
  )
}
