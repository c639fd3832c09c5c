import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import { useMay } from '../../base/session.ts'
import type { Webhook, WebhookTest } from '../../contract/types.ts'
import { useEventName } from '../../ui/data/event-names.ts'
import { Badge } from '../../ui/badge.tsx'
import { ActionButton, DialogButton, IconButton } from '../../ui/button.tsx'
import { useReasonText } from '../../ui/data/delivery-reasons.ts'
import { DateTime } from '../../ui/data/values.tsx'
import { MoreIcon, PlusIcon, WebhookIcon } from '../../ui/icons.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Card, Empty, Failure, Skeleton } from '../../ui/page.tsx'
import { NewWebhook } from './new-webhook.tsx'
import { TestResult } from './test-result.tsx'
import { WebhookDialog, type WebhookAction } from './webhook-dialogs.tsx'
import { isFuture, webhooksQuery } from './webhook-events.ts'

const useTexts = translations({
  text: [
    'URLs do seu sistema que recebem cada evento, com assinatura.',
    'URLs of your system that receive each event, signed.',
  ],
  add: ['Adicionar webhook', 'Add webhook'],
  loading: ['Carregando', 'Loading'],
  emptyTitle: ['Nenhum webhook ainda', 'No webhooks yet'],
  emptyText: [
    'Adicione uma URL do seu sistema para saber de cada depósito pago.',
    'Add a URL of your system to be notified of each paid deposit.',
  ],
  healthy: ['Ativo', 'Active'],
  failing: ['Falhando', 'Failing'],
  disabled: ['Desativado', 'Disabled'],
  failingSince: ['Todas as entregas falham desde', 'All deliveries have failed since'],
  soonDisabled: ['Após 5 dias, ele é desativado.', 'It is disabled after 5 days.'],
  disabledSince: ['Sem eventos desde', 'No events since'],
  overlap: ['O segredo anterior vale até', 'The previous secret is valid until'],
  withAuthorization: ['com Authorization', 'with Authorization'],
  test: ['Enviar teste', 'Send test'],
  testOf: (name: string) => [`Enviar teste a ${name}`, `Send test to ${name}`],
  more: (name: string) => [`Mais ações de ${name}`, `More actions for ${name}`],
  deliveries: ['Ver entregas', 'View deliveries'],
  edit: ['Editar', 'Edit'],
  rotate: ['Trocar segredo', 'Rotate secret'],
  disable: ['Desativar', 'Disable'],
  enable: ['Ativar', 'Enable'],
  delete: ['Excluir', 'Delete'],
})

export function Webhooks() {
  const t = useTexts()
  const may = useMay()
  const { data, error, refetch, isPending } = useQuery(webhooksQuery)
  return (
    <Card
      isFlush
      text={t.text}
      actions={
        may('webhooks:write') && (
          <DialogButton
            icon={PlusIcon}
            kind="primary"
            opensBy="new"
            dialog={(onClose) => <NewWebhook onClose={onClose} />}
          >
            {t.add}
          </DialogButton>
        )
      }
    >
      {isPending && <LoadingRows label={t.loading} />}
      {!data && error && <Failure error={error} onRetry={() => void refetch()} />}
      {data?.webhooks.length === 0 && <Empty icon={WebhookIcon} title={t.emptyTitle} text={t.emptyText} />}
      <ul className="divide-y divide-line border-t border-line empty:hidden">
        {data?.webhooks.map((webhook) => (
          <WebhookRow key={webhook.id} webhook={webhook} />
        ))}
      </ul>
    </Card>
  )
}

function LoadingRows({ label }: { label: string }) {
  return (
    <div role="status" aria-label={label} className="divide-y divide-line border-t border-line">
      {[0, 1].map((row) => (
        <div key={row} className="space-y-2 px-5 py-4">
          <Skeleton className="block! h-6 w-48" />
          <Skeleton className="block! h-5 w-72" />
          <Skeleton className="block! h-5 w-32" />
        </div>
      ))}
    </div>
  )
}

function WebhookRow({ webhook }: { webhook: Webhook }) {
  const t = useTexts()
  const eventName = useEventName()
  const { actions, outcome } = useWebhookActions(webhook)
  return (
    <li className="space-y-3 px-5 py-4">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-3">
        <div className="min-w-0 grow basis-72 space-y-1">
          <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
            <h2 className="font-semibold wrap-anywhere">
              <Link to="/developers/$" params={{ _splat: `webhooks/${webhook.id}` }} className="link">
                {webhook.name}
              </Link>
            </h2>
            <WebhookState webhook={webhook} />
          </div>
          <p className="font-mono text-[0.8125rem] wrap-anywhere">{webhook.url}</p>
          <p className="text-sm text-soft">
            {webhook.events.map(eventName).join(', ')}
            {webhook.hasAuthorization && ` · ${t.withAuthorization}`}
          </p>
          <WebhookTrouble webhook={webhook} />
        </div>
        {actions}
      </div>
      {outcome}
    </li>
  )
}

/** What people do with a webhook, and below it what came of it. */
export function useWebhookActions(webhook: Webhook) {
  const t = useTexts()
  const may = useMay()
  const [action, setAction] = useState<WebhookAction | null>(null)
  const [result, setResult] = useState<WebhookTest | null>(null)
  const test = async () => {
    setResult(null)
    const answer = await post<{ test: WebhookTest }>(`/webhooks/${webhook.id}/test`)
    setResult(answer.test)
    await refresh(webhooksQuery.queryKey)
  }
  return {
    begin: setAction,
    actions: may('webhooks:write') && (
      <div className="flex items-center gap-1.5">
        <ActionButton size="small" aria-label={t.testOf(webhook.name)} onAction={test}>
          {t.test}
        </ActionButton>
        <Actions webhook={webhook} onAction={setAction} />
      </div>
    ),
    outcome: (
      <>
        {result && <TestResult test={result} />}
        {action && (
          <WebhookDialog action={action} webhook={webhook} onClose={() => setAction(null)} onTested={setResult} />
        )}
      </>
    ),
  }
}

function Actions({ webhook, onAction }: { webhook: Webhook; onAction: (action: WebhookAction) => void }) {
  const t = useTexts()
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
          onSelect: () =>
            void navigate({
              to: '/developers/$',
              params: { _splat: 'deliveries' },
              search: { webhookId: webhook.id },
            }),
        },
        { label: t.edit, onSelect: () => onAction('edit') },
        { label: t.rotate, onSelect: () => onAction('rotate') },
        webhook.enabled
          ? { label: t.disable, onSelect: () => onAction('disable') }
          : { label: t.enable, onSelect: () => onAction('enable') },
        { label: t.delete, isDanger: true, onSelect: () => onAction('delete') },
      ]}
    />
  )
}

export function WebhookState({ webhook }: { webhook: Webhook }) {
  const t = useTexts()
  if (!webhook.enabled) return <Badge tone="bad">{t.disabled}</Badge>
  if (webhook.failingSince) return <Badge tone="wait">{t.failing}</Badge>
  return <Badge tone="good">{t.healthy}</Badge>
}

export function WebhookTrouble({ webhook }: { webhook: Webhook }) {
  const t = useTexts()
  const reasonText = useReasonText()
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
      {webhook.previousSecretUntil && isFuture(webhook.previousSecretUntil) && (
        <p className="text-sm text-soft">
          {t.overlap} <DateTime at={webhook.previousSecretUntil} />
        </p>
      )}
    </>
  )
}
