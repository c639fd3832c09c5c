import { translations, usePair } from '../../base/language.ts'
import { useMay } from '../../base/session.ts'
import { EVENTS, type EventKind } from '../../contract/codes.ts'
import { EVENT_EXAMPLES, EVENT_FIELDS } from '../../contract/events.ts'
import { DialogButton } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/data/values.tsx'
import { ChevronRightIcon } from '../../ui/icons.tsx'
import { Card } from '../../ui/page.tsx'
import { useEventSummary } from '../developers/webhook-events.ts'
import { useEventName } from '../../ui/data/event-names.ts'
import { MarkedText } from '../guide/marked-text.tsx'
import { fieldText } from './event-field-texts.ts'
import { SendSample } from './send-sample.tsx'

const useTexts = translations({
  text: [
    'O que enviamos aos webhooks. Cada webhook recebe os eventos que você escolheu para ele.',
    'What we send to webhooks. Each webhook gets the events that you chose for it.',
  ],
  fields: ['Campos de `data`', 'Fields of `data`'],
  sample: ['Exemplo', 'Example'],
  sampleOf: (name: string) => [`Exemplo: ${name}`, `Example: ${name}`],
  send: ['Enviar este', 'Send this one'],
  sendOf: (name: string) => [`Enviar este: ${name}`, `Send this one: ${name}`],
})

/** Every kind of event: when it is sent, its fields, and an example that can be sent to a webhook. */
export function EventCatalogue() {
  const t = useTexts()
  return (
    <Card isFlush>
      <p className="px-5 py-4 text-sm text-soft">{t.text}</p>
      <ul className="divide-y divide-line border-t border-line">
        {EVENTS.map((kind) => (
          <Kind key={kind} kind={kind} />
        ))}
      </ul>
    </Card>
  )
}

function Kind({ kind }: { kind: EventKind }) {
  const t = useTexts()
  const may = useMay()
  const name = useEventName()(kind)
  const summary = useEventSummary()(kind)
  return (
    <li>
      <details className="group">
        <summary className="flex items-start gap-3 px-5 py-4 -outline-offset-2 hover:bg-hover">
          <ChevronRightIcon className="mt-1 size-4 shrink-0 text-soft transition-transform group-open:rotate-90" />
          <div className="min-w-0 space-y-0.5">
            <h2 className="font-semibold">{name}</h2>
            <code className="block font-mono text-[0.8125rem] text-soft wrap-anywhere">{kind}</code>
            <p className="text-sm text-soft">{summary}</p>
          </div>
        </summary>
        <div className="grid grid-cols-1 items-start gap-6 px-5 pt-4 pb-6 lg:grid-cols-2">
          <div className="min-w-0 space-y-2">
            <h3 className="text-sm font-semibold">
              <MarkedText>{t.fields}</MarkedText>
            </h3>
            <Fields kind={kind} />
          </div>
          <div className="min-w-0 space-y-2">
            <h3 className="text-sm font-semibold">{t.sample}</h3>
            <CodeBlock label={t.sampleOf(name)} code={JSON.stringify(EVENT_EXAMPLES[kind], null, 2)} />
            {may('webhooks:write') && (
              <DialogButton
                size="small"
                aria-label={t.sendOf(name)}
                dialog={(onClose) => <SendSample kind={kind} onClose={onClose} />}
              >
                {t.send}
              </DialogButton>
            )}
          </div>
        </div>
      </details>
    </li>
  )
}

function Fields({ kind }: { kind: EventKind }) {
  const pair = usePair()
  return (
    <dl className="divide-y divide-line text-sm">
      {Object.entries(EVENT_FIELDS[kind]).map(([field, type]) => (
        <div key={field} className="space-y-0.5 py-2 first:pt-0">
          <dt className="font-mono text-[0.8125rem] wrap-anywhere">
            <span className="font-semibold">{field}</span> <span className="text-soft">{type}</span>
          </dt>
          <dd>
            <MarkedText>{pair(fieldText(kind, field))}</MarkedText>
          </dd>
        </div>
      ))}
    </dl>
  )
}
