import { translations } from '../../base/language.ts'
import { EVENTS, type EventKind } from '../../contract/codes.ts'
import type { Webhook } from '../../contract/types.ts'
import { useEventName } from '../../ui/data/event-names.ts'
import { useUrlErrorText } from '../../ui/data/delivery-reasons.ts'
import { Checkbox, CheckboxGroup, Input, useCheck, useFields } from '../../ui/form/form.tsx'
import { FormDialog } from '../../ui/form/form-dialog.tsx'
import { useEventSummary } from './webhook-events.ts'

const useTexts = translations({
  name: ['Nome', 'Name'],
  nameHint: ['Se vazio, usamos o domínio da URL.', 'Defaults to the host of the URL.'],
  url: ['URL', 'URL'],
  urlHint: [
    'Recebe um POST a cada evento e é testada ao salvar.',
    'Receives a POST for each event and is tested when you save.',
  ],
  events: ['Eventos', 'Events'],
  noEvent: ['Escolha ao menos um evento.', 'Choose at least one event.'],
  authorization: ['Cabeçalho Authorization', 'Authorization header'],
  authorizationHint: [
    'Enviado em cada entrega, além da assinatura.',
    'Sent with each delivery, in addition to the signature.',
  ],
  kept: ['Há um valor salvo. Deixe em branco para mantê-lo.', 'A value is saved. Leave blank to keep it.'],
  dropped: [
    'Com outro servidor ou caminho, o valor salvo é descartado. Informe-o de novo se precisar.',
    'With a different server or path, the saved value is dropped. Enter it again if you need it.',
  ],
  remove: ['Remover o valor salvo', 'Remove the saved value'],
})

export type WebhookFields = {
  name: string
  url: string
  events: EventKind[]
  /** An empty text means no value, or keeps the saved one. */
  authorization: string
  isAuthorizationRemoved: boolean
}

type FormProps = {
  title: string
  action: string
  /** Undefined for a new webhook. */
  webhook?: Webhook
  onSend: (fields: WebhookFields) => Promise<unknown>
  onClose: () => void
}

export function WebhookForm({ webhook, onSend, ...props }: FormProps) {
  const t = useTexts()
  const urlErrorText = useUrlErrorText()
  const eventName = useEventName()
  const eventSummary = useEventSummary()
  const fields = useFields<WebhookFields>({
    name: webhook?.name ?? '',
    url: webhook?.url ?? '',
    events: webhook?.events ?? ['DEPOSIT_ASSET_SUCCESS'],
    authorization: '',
    isAuthorizationRemoved: false,
  })
  const { typed, field } = fields
  const { isWrong, onCheck } = useCheck(typed.events.length > 0)
  const send = () => onSend({ ...typed, name: typed.name.trim(), url: typed.url.trim() })
  return (
    <FormDialog {...props} onCheck={onCheck} onSend={send} errorText={urlErrorText}>
      <Input
        label={t.url}
        hint={t.urlHint}
        type="url"
        required
        // The user opened the dialog to fill it in.
        // oxlint-disable-next-line jsx-a11y/no-autofocus
        autoFocus={!webhook}
        maxLength={2048}
        placeholder="https://loja.example/guiche"
        {...field('url')}
      />
      <Input {...field('name')} label={t.name} hint={t.nameHint} isOptional maxLength={100} />
      <CheckboxGroup
        legend={t.events}
        options={EVENTS.map((value) => ({
          value,
          label: eventName(value),
          hint: (
            <>
              {eventSummary(value)}
              <code className="block font-mono text-xs">{value}</code>
            </>
          ),
        }))}
        {...field('events')}
        error={isWrong && t.noEvent}
      />
      <Authorization fields={fields} webhook={webhook} />
    </FormDialog>
  )
}

type Fields = ReturnType<typeof useFields<WebhookFields>>

function Authorization({ fields, webhook }: { fields: Fields; webhook: Webhook | undefined }) {
  const t = useTexts()
  const { typed, field, set } = fields
  const isStored = webhook?.hasAuthorization === true
  const isElsewhere = isStored && receiverOf(typed.url.trim()) !== receiverOf(webhook.url)
  return (
    <div className="space-y-3">
      <Input
        label={t.authorization}
        hint={isElsewhere ? t.dropped : isStored ? t.kept : t.authorizationHint}
        isOptional
        maxLength={1000}
        spellCheck={false}
        placeholder={isStored && !isElsewhere ? '••••••••' : 'Bearer …'}
        disabled={typed.isAuthorizationRemoved}
        {...field('authorization')}
      />
      {isStored && !isElsewhere && (
        <Checkbox
          label={t.remove}
          value={typed.isAuthorizationRemoved}
          onChange={(isAuthorizationRemoved) => set({ isAuthorizationRemoved, authorization: '' })}
        />
      )}
    </div>
  )
}

function receiverOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { origin, pathname } = new URL(url)
  return origin + pathname
}
