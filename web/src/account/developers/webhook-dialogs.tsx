import { useState } from 'react'
import { del, patch, post } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import type { Webhook, WebhookTest } from '../../contract/types.ts'
import { Checkbox, Select } from '../../ui/form/form.tsx'
import { ConfirmDialog, FormDialog, Secret, ShownOnce } from '../../ui/form/form-dialog.tsx'
import { toast } from '../../ui/toast.tsx'
import { webhooksQuery } from './webhook-events.ts'
import { WebhookForm, type WebhookFields } from './webhook-form.tsx'

const useTexts = translations({
  editTitle: ['Editar webhook', 'Edit webhook'],
  save: ['Salvar', 'Save'],
  saved: ['Webhook salvo.', 'Webhook saved.'],
  rotateTitle: ['Trocar o segredo de assinatura?', 'Rotate the signing secret?'],
  rotateText: [
    'As entregas passam a ser assinadas com um novo segredo.',
    'Deliveries will be signed with a new secret.',
  ],
  rotate: ['Trocar segredo', 'Rotate secret'],
  overlap: ['Expirar o segredo atual', 'Expire the current secret'],
  overlapHint: [
    'Até lá, as entregas levam as duas assinaturas. Se o segredo vazou, expire agora.',
    'Until then, deliveries carry both signatures. If the secret has leaked, expire it now.',
  ],
  overlaps: {
    '0': ['Agora', 'Immediately'],
    '3600': ['Em 1 hora', 'In 1 hour'],
    '86400': ['Em 24 horas', 'In 24 hours'],
    '604800': ['Em 7 dias', 'In 7 days'],
  },
  rotatedTitle: ['Novo segredo', 'New secret'],
  once: ['Copie o segredo agora. Ele não será mostrado de novo.', 'Copy the secret now. It won’t be shown again.'],
  secret: ['Segredo de assinatura', 'Signing secret'],
  copy: ['Copiar segredo', 'Copy secret'],
  disableTitle: (name: string) => [`Desativar ${name}?`, `Disable ${name}?`],
  disableText: [
    'Ele deixa de receber eventos, e as entregas pendentes contam como falha. Você pode ativá-lo de novo.',
    'It stops receiving events, and pending deliveries count as failed. You can enable it again.',
  ],
  disable: ['Desativar', 'Disable'],
  disabled: ['Webhook desativado.', 'Webhook disabled.'],
  enableTitle: (name: string) => [`Ativar ${name}?`, `Enable ${name}?`],
  enableText: ['Ele volta a receber eventos.', 'It receives events again.'],
  enable: ['Ativar', 'Enable'],
  enabled: ['Webhook ativado.', 'Webhook enabled.'],
  resend: ['Enviar também o que ele perdeu', 'Also send what it missed'],
  resendHint: (since: string) => [`Eventos desde ${since}.`, `Events since ${since}.`],
  enabledAndSent: (count: number) => [
    count === 1 ? 'Webhook ativado; 1 entrega agendada.' : `Webhook ativado; ${count} entregas agendadas.`,
    count === 1 ? 'Webhook enabled; 1 delivery scheduled.' : `Webhook enabled; ${count} deliveries scheduled.`,
  ],
  deleteTitle: (name: string) => [`Excluir ${name}?`, `Delete ${name}?`],
  deleteText: [
    'Nada mais é enviado a ele. As entregas já feitas continuam na lista.',
    'It receives no more events. Past deliveries stay in the list.',
  ],
  delete: ['Excluir', 'Delete'],
  deleted: ['Webhook excluído.', 'Webhook deleted.'],
})

export type WebhookAction = 'edit' | 'rotate' | 'disable' | 'enable' | 'delete'
type Props = { webhook: Webhook; onClose: () => void }
type EditProps = Props & { onTested: (test: WebhookTest) => void }

export function WebhookDialog({ action, onTested, ...props }: EditProps & { action: WebhookAction }) {
  const t = useTexts()
  const { id, name } = props.webhook
  switch (action) {
    case 'edit':
      return <Edit {...props} onTested={onTested} />
    case 'rotate':
      return <Rotate {...props} />
    case 'enable':
      return <Enable {...props} />
    case 'disable':
      return (
        <ConfirmDialog
          title={t.disableTitle(name)}
          text={t.disableText}
          action={t.disable}
          done={t.disabled}
          refreshes={[webhooksQuery.queryKey]}
          onSend={() => patch(`/webhooks/${id}`, { enabled: false })}
          onClose={props.onClose}
        />
      )
    case 'delete':
      return (
        <ConfirmDialog
          isDanger
          title={t.deleteTitle(name)}
          text={t.deleteText}
          action={t.delete}
          done={t.deleted}
          refreshes={[webhooksQuery.queryKey]}
          onSend={() => del(`/webhooks/${id}`)}
          onClose={props.onClose}
        />
      )
  }
}

function Edit({ webhook, onClose, onTested }: EditProps) {
  const t = useTexts()
  const save = async (fields: WebhookFields) => {
    const body = changesOf(webhook, fields)
    const { test } = await patch<{ test: WebhookTest | null }>(`/webhooks/${webhook.id}`, body)
    onClose()
    if (test) onTested(test)
    toast.good(t.saved)
    await refresh(webhooksQuery.queryKey)
  }
  return <WebhookForm title={t.editTitle} action={t.save} webhook={webhook} onSend={save} onClose={onClose} />
}

/** Returns only what changed. The server tests a URL that is sent, even if it is the same. */
function changesOf(webhook: Webhook, fields: WebhookFields): object {
  const { name, url, events, isAuthorizationRemoved } = fields
  const authorization = fields.authorization.trim()
  return {
    ...(name && name !== webhook.name && { name }),
    ...(url !== webhook.url && { url }),
    ...(events.join() !== webhook.events.join() && { events }),
    ...(authorization && { authorization }),
    ...(isAuthorizationRemoved && { authorization: null }),
  }
}

const OVERLAPS = ['0', '3600', '86400', '604800'] as const

function Rotate({ webhook, onClose }: Props) {
  const t = useTexts()
  const [overlap, setOverlap] = useState('86400')
  const [secret, setSecret] = useState<string>()
  const rotate = async () => {
    const body = { overlapSeconds: Number(overlap) }
    const made = await post<{ secret: string }>(`/webhooks/${webhook.id}/rotate-secret`, body)
    setSecret(made.secret)
    await refresh(webhooksQuery.queryKey)
  }
  if (secret !== undefined)
    return (
      <ShownOnce title={t.rotatedTitle} warning={t.once} onClose={onClose}>
        <Secret label={t.secret} text={secret} copyLabel={t.copy} />
      </ShownOnce>
    )
  return (
    <FormDialog title={t.rotateTitle} text={t.rotateText} action={t.rotate} onSend={rotate} onClose={onClose}>
      <Select
        label={t.overlap}
        hint={t.overlapHint}
        value={overlap}
        onChange={setOverlap}
        choices={OVERLAPS.map((value) => ({ value, label: t.overlaps[value] }))}
      />
    </FormDialog>
  )
}

function Enable({ webhook, onClose }: Props) {
  const t = useTexts()
  const { dateTime } = useFormat()
  const [isResending, setResending] = useState(true)
  // Counts from the first failure, because what failed before the webhook was disabled was missed too.
  const since = webhook.failingSince ?? webhook.disabledAt
  return (
    <ConfirmDialog
      onClose={onClose}
      title={t.enableTitle(webhook.name)}
      text={t.enableText}
      action={t.enable}
      onSend={async () => {
        await patch(`/webhooks/${webhook.id}`, { enabled: true })
        if (isResending && since) {
          const { queued } = await post<{ queued: number }>('/events/resend', { since, webhookId: webhook.id })
          toast.good(t.enabledAndSent(queued))
        } else toast.good(t.enabled)
      }}
      refreshes={[webhooksQuery.queryKey]}
    >
      {since && (
        <Checkbox label={t.resend} hint={t.resendHint(dateTime(since))} value={isResending} onChange={setResending} />
      )}
    </ConfirmDialog>
  )
}
