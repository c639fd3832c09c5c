import { useState, type FormEvent, type ReactNode } from 'react'
import { isCanceled } from '../../base/api.ts'
import { useErrorText } from '../../base/error-text.ts'
import { words } from '../../base/language.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Input } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { useUrlRefusal } from './reasons.ts'
import { EVENTS, useEventName, type EventKind, type Webhook } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    name: 'Nome',
    nameHint: 'Sem um, fica o domínio da URL.',
    url: 'URL',
    urlHint: 'Recebe um POST a cada evento e é testada ao salvar.',
    urlWrong: 'Escreva a URL inteira, começando com https://',
    events: 'Eventos',
    noEvent: 'Escolha ao menos um evento.',
    authorization: 'Cabeçalho Authorization',
    authorizationHint: 'Enviado em cada entrega, além da assinatura.',
    kept: 'Há um valor guardado. Deixe em branco para mantê-lo.',
    dropped: 'O servidor é outro: o valor guardado não vai junto. Escreva-o de novo se precisar.',
    remove: 'Remover o valor guardado',
    cancel: 'Voltar',
  },
  en: {
    name: 'Name',
    nameHint: 'Without one it is the host of the URL.',
    url: 'URL',
    urlHint: 'It gets a POST for each event, and is tested when you save.',
    urlWrong: 'Write the whole URL, beginning with https://',
    events: 'Events',
    noEvent: 'Choose at least one event.',
    authorization: 'Authorization header',
    authorizationHint: 'Sent with each delivery, besides the signature.',
    kept: 'A value is stored. Leave this empty to keep it.',
    dropped: 'This is another server: the stored value does not go with it. Write it again if you need it.',
    remove: 'Remove the stored value',
    cancel: 'Back',
  },
})

export type WebhookFields = {
  name: string
  url: string
  events: EventKind[]
  /** '' is none, or where one is stored, that one. */
  authorization: string
  isAuthorizationRemoved: boolean
}

/** For a new webhook, or with `webhook` for that one. */
export function WebhookForm({
  title,
  action,
  webhook,
  send,
  onClose,
  children,
}: {
  title: string
  action: string
  webhook?: Webhook
  send: { mutate: (fields: WebhookFields) => void; isPending: boolean; error: Error | null }
  onClose: () => void
  children?: ReactNode
}) {
  const t = useWords()
  const errorText = useErrorText()
  const urlRefusal = useUrlRefusal()
  const [isTried, setTried] = useState(false)
  const [fields, setFields] = useState<WebhookFields>({
    name: webhook?.name ?? '',
    url: webhook?.url ?? '',
    events: webhook?.events ?? ['DEPOSIT_ASSET_SUCCESS'],
    authorization: '',
    isAuthorizationRemoved: false,
  })
  const set = (changes: Partial<WebhookFields>) => setFields({ ...fields, ...changes })
  const isUrl = /^https?:\/\//i.test(fields.url.trim()) && URL.canParse(fields.url.trim())
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (isUrl && fields.events.length > 0) send.mutate({ ...fields, name: fields.name.trim(), url: fields.url.trim() })
  }
  return (
    <Dialog
      isOpen
      onClose={() => !send.isPending && onClose()}
      title={title}
      footer={
        <>
          <Button onClick={onClose} disabled={send.isPending}>
            {t.cancel}
          </Button>
          <Button type="submit" form="webhook" kind="primary" isBusy={send.isPending}>
            {action}
          </Button>
        </>
      }
    >
      <form id="webhook" noValidate onSubmit={submit} className="space-y-5">
        <Input
          label={t.url}
          hint={t.urlHint}
          error={isTried && !isUrl && t.urlWrong}
          type="url"
          required
          // Whoever opened the dialog came to fill it in.
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus={!webhook}
          maxLength={2048}
          placeholder="https://loja.example/guiche"
          autoComplete="off"
          value={fields.url}
          onChange={(event) => set({ url: event.target.value })}
        />
        <Input
          label={t.name}
          hint={t.nameHint}
          isOptional
          maxLength={100}
          autoComplete="off"
          value={fields.name}
          onChange={(event) => set({ name: event.target.value })}
        />
        <EventChoice
          events={fields.events}
          onChange={(events) => set({ events })}
          error={isTried && fields.events.length === 0 ? t.noEvent : undefined}
        />
        <Authorization fields={fields} onChange={set} {...(webhook && { webhook })} />
        {children}
        {send.error && !isCanceled(send.error) && (
          <Notice tone="bad">{urlRefusal(send.error) ?? errorText(send.error)}</Notice>
        )}
      </form>
    </Dialog>
  )
}

function EventChoice({
  events,
  onChange,
  error,
}: {
  events: EventKind[]
  onChange: (events: EventKind[]) => void
  error: string | undefined
}) {
  const t = useWords()
  const eventName = useEventName()
  return (
    <fieldset>
      <legend className="mb-2.5 text-sm font-semibold">{t.events}</legend>
      <div className="space-y-3">
        {EVENTS.map((event) => (
          <Checkbox
            key={event}
            label={eventName(event)}
            hint={<code className="font-mono text-[0.8125rem]">{event}</code>}
            checked={events.includes(event)}
            onChange={({ target }) =>
              onChange(EVENTS.filter((one) => (one === event ? target.checked : events.includes(one))))
            }
          />
        ))}
      </div>
      {error && (
        <p role="alert" className="mt-2 text-sm font-medium text-bad">
          {error}
        </p>
      )}
    </fieldset>
  )
}

function Authorization({
  fields,
  onChange,
  webhook,
}: {
  fields: WebhookFields
  onChange: (changes: Partial<WebhookFields>) => void
  webhook?: Webhook
}) {
  const t = useWords()
  const isStored = webhook?.hasAuthorization === true
  const isElsewhere = isStored && originOf(fields.url.trim()) !== originOf(webhook.url)
  return (
    <div className="space-y-3">
      <Input
        label={t.authorization}
        hint={isElsewhere ? t.dropped : isStored ? t.kept : t.authorizationHint}
        isOptional
        maxLength={1000}
        autoComplete="off"
        spellCheck={false}
        placeholder={isStored && !isElsewhere ? '••••••••' : 'Bearer …'}
        disabled={fields.isAuthorizationRemoved}
        value={fields.authorization}
        onChange={(event) => onChange({ authorization: event.target.value })}
      />
      {isStored && !isElsewhere && (
        <Checkbox
          label={t.remove}
          checked={fields.isAuthorizationRemoved}
          onChange={(event) => onChange({ isAuthorizationRemoved: event.target.checked, authorization: '' })}
        />
      )}
    </div>
  )
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined
}
