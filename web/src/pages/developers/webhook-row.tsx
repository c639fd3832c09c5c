import { useNavigate } from '@tanstack/react-router'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { post } from '../../base/api.ts'
import { words } from '../../base/language.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { MoreIcon } from '../../ui/icons.tsx'
import { Menu } from '../../ui/menu.tsx'
import { toast } from '../../ui/toast.tsx'
import { useReason } from './reasons.ts'
import { isAhead, useEventName, webhooksQuery, type TestResult, type Webhook } from './shapes.ts'
import { TestOutcome } from './test-outcome.tsx'
import { WebhookAct, type Act } from './webhook-acts.tsx'

const useWords = words({
  'pt-BR': {
    healthy: 'Ativo',
    failing: 'Falhando',
    disabled: 'Desativado',
    failingSince: 'Nenhuma entrega deu certo desde',
    soonDisabled: 'Depois de 5 dias assim, ele é desativado.',
    disabledSince: 'Sem eventos desde',
    overlap: 'O segredo anterior também assina até',
    withAuthorization: 'com Authorization',
    test: 'Enviar teste',
    testOf: (name: string) => `Enviar teste a ${name}`,
    more: (name: string) => `Mais ações de ${name}`,
    deliveries: 'Ver entregas',
    edit: 'Editar',
    rotate: 'Trocar o segredo',
    disable: 'Desativar',
    enable: 'Ativar',
    remove: 'Excluir',
  },
  en: {
    healthy: 'Active',
    failing: 'Failing',
    disabled: 'Disabled',
    failingSince: 'No delivery has worked since',
    soonDisabled: 'After 5 days of this it is disabled.',
    disabledSince: 'No events since',
    overlap: 'The previous secret signs too, until',
    withAuthorization: 'with Authorization',
    test: 'Send a test',
    testOf: (name: string) => `Send a test to ${name}`,
    more: (name: string) => `More actions for ${name}`,
    deliveries: 'See deliveries',
    edit: 'Edit',
    rotate: 'Rotate the secret',
    disable: 'Disable',
    enable: 'Enable',
    remove: 'Delete',
  },
})

export function WebhookRow({ webhook }: { webhook: Webhook }) {
  const t = useWords()
  const eventName = useEventName()
  const queryClient = useQueryClient()
  const [act, setAct] = useState<Act | null>(null)
  const [outcome, setOutcome] = useState<TestResult | null>(null)
  const test = useMutation({
    mutationFn: () => post<{ test: TestResult }>(`/webhooks/${webhook.id}/test`),
    onMutate: () => setOutcome(null),
    onSuccess: async (answer) => {
      setOutcome(answer.test)
      await queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey })
    },
    onError: toast.bad,
  })
  return (
    <li className="space-y-3 px-5 py-4">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-3">
        <div className="min-w-0 grow basis-72 space-y-1">
          <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
            <h2 className="font-semibold wrap-anywhere">{webhook.name}</h2>
            <State webhook={webhook} />
          </div>
          <p className="font-mono text-[0.8125rem] wrap-anywhere">{webhook.url}</p>
          <p className="text-sm text-soft">
            {webhook.events.map(eventName).join(', ')}
            {webhook.hasAuthorization && ` · ${t.withAuthorization}`}
          </p>
          <Trouble webhook={webhook} />
        </div>
        <div className="flex items-center gap-1.5">
          <Button
            size="small"
            aria-label={t.testOf(webhook.name)}
            isBusy={test.isPending}
            onClick={() => test.mutate()}
          >
            {t.test}
          </Button>
          <Actions webhook={webhook} onAct={setAct} />
        </div>
      </div>
      {outcome && <TestOutcome test={outcome} />}
      {act && <WebhookAct act={act} webhook={webhook} onClose={() => setAct(null)} onTested={setOutcome} />}
    </li>
  )
}

function Actions({ webhook, onAct }: { webhook: Webhook; onAct: (act: Act) => void }) {
  const t = useWords()
  const navigate = useNavigate()
  return (
    <Menu
      trigger={
        <IconButton label={t.more(webhook.name)}>
          <MoreIcon />
        </IconButton>
      }
      items={[
        {
          label: t.deliveries,
          onSelect: () => void navigate({ to: '/developers/deliveries', search: { endpointId: webhook.id } }),
        },
        { label: t.edit, onSelect: () => onAct('edit') },
        { label: t.rotate, onSelect: () => onAct('rotate') },
        webhook.enabled
          ? { label: t.disable, onSelect: () => onAct('disable') }
          : { label: t.enable, onSelect: () => onAct('enable') },
        { label: t.remove, isDanger: true, onSelect: () => onAct('remove') },
      ]}
    />
  )
}

function State({ webhook }: { webhook: Webhook }) {
  const t = useWords()
  if (!webhook.enabled) return <Badge tone="bad">{t.disabled}</Badge>
  if (webhook.failingSince) return <Badge tone="wait">{t.failing}</Badge>
  return <Badge tone="good">{t.healthy}</Badge>
}

function Trouble({ webhook }: { webhook: Webhook }) {
  const t = useWords()
  const reasonText = useReason()
  return (
    <>
      {webhook.disabledAt && (
        <p className="text-sm text-bad">
          {t.disabledSince} <DateTime at={webhook.disabledAt} />
          {webhook.disabledReason && `: ${reasonText({ code: webhook.disabledCode, text: webhook.disabledReason })}`}
        </p>
      )}
      {webhook.enabled && webhook.failingSince && (
        <p className="text-sm text-wait">
          {t.failingSince} <DateTime at={webhook.failingSince} />. {t.soonDisabled}
        </p>
      )}
      {webhook.previousSecretUntil && isAhead(webhook.previousSecretUntil) && (
        <p className="text-sm text-soft">
          {t.overlap} <DateTime at={webhook.previousSecretUntil} />
        </p>
      )}
    </>
  )
}
