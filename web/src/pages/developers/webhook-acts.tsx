import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { del, patch, post } from '../../base/api.ts'
import { dateTimeText } from '../../base/dates.ts'
import { useLanguage, words } from '../../base/language.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Checkbox, Select } from '../../ui/field.tsx'
import { toast } from '../../ui/toast.tsx'
import { webhooksQuery, type TestResult, type Webhook } from './shapes.ts'
import { ShownOnce } from './shown-once.tsx'
import { WebhookForm, type WebhookFields } from './webhook-form.tsx'

const useWords = words({
  'pt-BR': {
    editTitle: 'Editar webhook',
    save: 'Salvar',
    saved: 'Webhook salvo.',
    rotateTitle: 'Trocar o segredo de assinatura?',
    rotateText: 'Um segredo novo passa a assinar as entregas.',
    rotate: 'Trocar o segredo',
    overlap: 'O segredo atual continua assinando por',
    overlapHint: 'Tempo para atualizar o seu sistema. Se o segredo vazou, escolha “nem mais um minuto”.',
    overlaps: { '0': 'Nem mais um minuto', '3600': '1 hora', '86400': '24 horas', '604800': '7 dias' },
    rotatedTitle: 'Novo segredo',
    once: 'Copie o segredo agora: ele não será mostrado de novo.',
    secret: 'Segredo de assinatura',
    copy: 'Copiar segredo',
    disableTitle: (name: string) => `Desativar ${name}?`,
    disableText: 'Ele deixa de receber eventos, e o que estava na fila conta como falha. Você pode ativá-lo de novo.',
    disable: 'Desativar',
    disabled: 'Webhook desativado.',
    enableTitle: (name: string) => `Ativar ${name}?`,
    enableText: 'Ele volta a receber eventos.',
    enable: 'Ativar',
    enabled: 'Webhook ativado.',
    resend: 'Enviar também o que ele perdeu',
    resendHint: (since: string) => `Os eventos desde ${since}.`,
    enabledAndSent: (count: number) =>
      count === 1 ? 'Webhook ativado; 1 entrega na fila.' : `Webhook ativado; ${count} entregas na fila.`,
    removeTitle: (name: string) => `Excluir ${name}?`,
    removeText: 'Nada mais é enviado a este endereço. As entregas feitas continuam no registro.',
    remove: 'Excluir',
    removed: 'Webhook excluído.',
  },
  en: {
    editTitle: 'Edit the webhook',
    save: 'Save',
    saved: 'The webhook is saved.',
    rotateTitle: 'Rotate the signing secret?',
    rotateText: 'A new secret begins to sign deliveries.',
    rotate: 'Rotate the secret',
    overlap: 'The present secret goes on signing for',
    overlapHint: 'Time to update your system. If the secret has leaked, choose “not a minute more”.',
    overlaps: { '0': 'Not a minute more', '3600': '1 hour', '86400': '24 hours', '604800': '7 days' },
    rotatedTitle: 'New secret',
    once: 'Copy the secret now: it will not be shown again.',
    secret: 'Signing secret',
    copy: 'Copy the secret',
    disableTitle: (name: string) => `Disable ${name}?`,
    disableText: 'It gets no more events, and what was in the queue counts as failed. You can enable it again.',
    disable: 'Disable',
    disabled: 'The webhook is disabled.',
    enableTitle: (name: string) => `Enable ${name}?`,
    enableText: 'It gets events again.',
    enable: 'Enable',
    enabled: 'The webhook is enabled.',
    resend: 'Send what it missed, too',
    resendHint: (since: string) => `The events since ${since}.`,
    enabledAndSent: (count: number) =>
      count === 1
        ? 'The webhook is enabled; 1 delivery in the queue.'
        : `The webhook is enabled; ${count} deliveries in the queue.`,
    removeTitle: (name: string) => `Delete ${name}?`,
    removeText: 'Nothing more is sent to this address. Deliveries made stay in the log.',
    remove: 'Delete',
    removed: 'The webhook is deleted.',
  },
})

export type Act = 'edit' | 'rotate' | 'disable' | 'enable' | 'remove'
type Props = { webhook: Webhook; onClose: () => void }

/** The dialog of what was chosen from a webhook's menu. */
export function WebhookAct({
  act,
  webhook,
  onClose,
  onTested,
}: Props & { act: Act; onTested: (test: TestResult) => void }) {
  const t = useWords()
  const reread = useReread()
  const props = { webhook, onClose }
  switch (act) {
    case 'edit':
      return <Edit {...props} onTested={onTested} />
    case 'rotate':
      return <Rotate {...props} />
    case 'enable':
      return <Enable {...props} />
    case 'disable':
      return (
        <ConfirmDialog
          isOpen
          onClose={onClose}
          title={t.disableTitle(webhook.name)}
          text={t.disableText}
          action={t.disable}
          onConfirm={async () => {
            await patch(`/webhooks/${webhook.id}`, { enabled: false })
            toast.good(t.disabled)
            await reread()
          }}
        />
      )
    case 'remove':
      return (
        <ConfirmDialog
          isOpen
          isDanger
          onClose={onClose}
          title={t.removeTitle(webhook.name)}
          text={t.removeText}
          action={t.remove}
          onConfirm={async () => {
            await del(`/webhooks/${webhook.id}`)
            toast.good(t.removed)
            await reread()
          }}
        />
      )
  }
}

function useReread(): () => Promise<void> {
  const queryClient = useQueryClient()
  return () => queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey })
}

function Edit({ webhook, onClose, onTested }: Props & { onTested: (test: TestResult) => void }) {
  const t = useWords()
  const reread = useReread()
  const save = useMutation({
    mutationFn: (fields: WebhookFields) =>
      patch<{ test: TestResult | null }>(`/webhooks/${webhook.id}`, changesOf(webhook, fields)),
    onSuccess: async ({ test }) => {
      onClose()
      if (test) onTested(test)
      toast.good(t.saved)
      await reread()
    },
  })
  return <WebhookForm title={t.editTitle} action={t.save} webhook={webhook} send={save} onClose={onClose} />
}

/** Only what changed: a new URL is tested, and one that is sent again would be too. */
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

function Rotate({ webhook, onClose }: Props) {
  const t = useWords()
  const reread = useReread()
  const [overlap, setOverlap] = useState('86400')
  const [secret, setSecret] = useState<string | null>(null)
  const isRotated = useRef(false)
  if (secret !== null)
    return (
      <ShownOnce
        title={t.rotatedTitle}
        warning={t.once}
        label={t.secret}
        text={secret}
        copyLabel={t.copy}
        onClose={onClose}
      />
    )
  return (
    <ConfirmDialog
      isOpen
      // It closes itself on success too; by then the secret has taken its place.
      onClose={() => !isRotated.current && onClose()}
      title={t.rotateTitle}
      text={t.rotateText}
      action={t.rotate}
      onConfirm={async () => {
        const answer = await post<{ secret: string }>(`/webhooks/${webhook.id}/rotate-secret`, {
          overlapSeconds: Number(overlap),
        })
        isRotated.current = true
        setSecret(answer.secret)
        await reread()
      }}
    >
      <Select
        label={t.overlap}
        hint={t.overlapHint}
        value={overlap}
        onChange={(event) => setOverlap(event.target.value)}
        choices={(['0', '3600', '86400', '604800'] as const).map((value) => ({ value, label: t.overlaps[value] }))}
      />
    </ConfirmDialog>
  )
}

function Enable({ webhook, onClose }: Props) {
  const t = useWords()
  const language = useLanguage()
  const reread = useReread()
  const [isResending, setResending] = useState(true)
  // From the first failure on: what failed before it was disabled was missed as well.
  const since = webhook.failingSince ?? webhook.disabledAt
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={t.enableTitle(webhook.name)}
      text={t.enableText}
      action={t.enable}
      onConfirm={async () => {
        await patch(`/webhooks/${webhook.id}`, { enabled: true })
        if (isResending && since) {
          const { queued } = await post<{ queued: number }>('/events/resend', { since, webhookId: webhook.id })
          toast.good(t.enabledAndSent(queued))
        } else toast.good(t.enabled)
        await reread()
      }}
    >
      {since && (
        <Checkbox
          label={t.resend}
          hint={t.resendHint(dateTimeText(since, language))}
          checked={isResending}
          onChange={(event) => setResending(event.target.checked)}
        />
      )}
    </ConfirmDialog>
  )
}
