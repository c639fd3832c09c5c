import { useState } from 'react'
import { del, patch, post } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import type { Webhook, WebhookTest } from '../../contract/types.ts'
import { Checkbox, Select } from '../../ui/form/field.tsx'
import { ConfirmDialog, FormDialog } from '../../ui/form/form-dialog.tsx'
import { Secret, ShownOnce } from '../../ui/form/shown-once.tsx'
import { toast } from '../../ui/toast.tsx'
import { webhooksQuery } from './webhook-events.ts'
import { WebhookForm, type WebhookFields } from './webhook-form.tsx'

const useTexts = translations({
  'pt-BR': {
    editTitle: 'Editar webhook',
    save: 'Salvar',
    saved: 'Webhook salvo.',
    rotateTitle: 'Trocar o segredo de assinatura?',
    rotateText: 'As entregas passam a ser assinadas com um novo segredo.',
    rotate: 'Trocar segredo',
    overlap: 'Expirar o segredo atual',
    overlapHint: 'Até lá, as entregas levam as duas assinaturas. Se o segredo vazou, expire agora.',
    overlaps: { '0': 'Agora', '3600': 'Em 1 hora', '86400': 'Em 24 horas', '604800': 'Em 7 dias' },
    rotatedTitle: 'Novo segredo',
    once: 'Copie o segredo agora. Ele não será mostrado de novo.',
    secret: 'Segredo de assinatura',
    copy: 'Copiar segredo',
    disableTitle: (name: string) => `Desativar ${name}?`,
    disableText: 'Ele deixa de receber eventos, e as entregas pendentes contam como falha. Você pode ativá-lo de novo.',
    disable: 'Desativar',
    disabled: 'Webhook desativado.',
    enableTitle: (name: string) => `Ativar ${name}?`,
    enableText: 'Ele volta a receber eventos.',
    enable: 'Ativar',
    enabled: 'Webhook ativado.',
    resend: 'Enviar também o que ele perdeu',
    resendHint: (since: string) => `Eventos desde ${since}.`,
    enabledAndSent: (count: number) =>
      count === 1 ? 'Webhook ativado; 1 entrega agendada.' : `Webhook ativado; ${count} entregas agendadas.`,
    deleteTitle: (name: string) => `Excluir ${name}?`,
    deleteText: 'Nada mais é enviado a ele. As entregas já feitas continuam na lista.',
    delete: 'Excluir',
    deleted: 'Webhook excluído.',
  },
  en: {
    editTitle: 'Edit webhook',
    save: 'Save',
    saved: 'Webhook saved.',
    rotateTitle: 'Rotate the signing secret?',
    rotateText: 'Deliveries will be signed with a new secret.',
    rotate: 'Rotate secret',
    overlap: 'Expire the current secret',
    overlapHint: 'Until then, deliveries carry both signatures. If the secret has leaked, expire it now.',
    overlaps: { '0': 'Immediately', '3600': 'In 1 hour', '86400': 'In 24 hours', '604800': 'In 7 days' },
    rotatedTitle: 'New secret',
    once: 'Copy the secret now. It won’t be shown again.',
    secret: 'Signing secret',
    copy: 'Copy secret',
    disableTitle: (name: string) => `Disable ${name}?`,
    disableText: 'It stops receiving events, and pending deliveries count as failed. You can enable it again.',
    disable: 'Disable',
    disabled: 'Webhook disabled.',
    enableTitle: (name: string) => `Enable ${name}?`,
    enableText: 'It receives events again.',
    enable: 'Enable',
    enabled: 'Webhook enabled.',
    resend: 'Also send what it missed',
    resendHint: (since: string) => `Events since ${since}.`,
    enabledAndSent: (count: number) =>
      count === 1 ? 'Webhook enabled; 1 delivery scheduled.' : `Webhook enabled; ${count} deliveries scheduled.`,
    deleteTitle: (name: string) => `Delete ${name}?`,
    deleteText: 'It receives no more events. Past deliveries stay in the list.',
    delete: 'Delete',
    deleted: 'Webhook deleted.',
  },
})

export type WebhookAction = 'edit' | 'rotate' | 'disable' | 'enable' | 'delete'
type Props = { webhook: Webhook; onClose: () => void }
type EditProps = Props & { onTested: (test: WebhookTest) => void }

/** The dialog of an action from a webhook's menu. */
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

/** Only what changed: a URL that is sent is tested, even if it is the same. */
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
  // Since the first failure: what failed before it was disabled was missed too.
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
        <Checkbox label={t.resend} hint={t.resendHint(dateTime(since))} checked={isResending} onChange={setResending} />
      )}
    </ConfirmDialog>
  )
}
