import type { EventField } from '../../domain/webhooks/event-fields.ts'
import { EVENTS, SENT_KINDS, type SentKind } from '../../domain/webhooks/event-kinds.ts'
import { eventName } from '../../domain/webhooks/events.ts'
import { DEPOSIT_EXAMPLE } from './deposit-records.ts'

/** A field without schema or example of its own has that of a deposit. */
export function byField<Value>(kind: SentKind, valueOf: (field: EventField<never>, name: string) => Value) {
  const fields = Object.entries<EventField<never>>(EVENTS[kind].fields)
  return Object.fromEntries(fields.map(([name, field]) => [name, valueOf(field, name)]))
}

const OF_DEPOSIT: Record<string, unknown> = DEPOSIT_EXAMPLE

/** By kind, an event as it is sent. */
export const EVENT_EXAMPLES = Object.fromEntries(
  SENT_KINDS.map((kind) => {
    const id = eventName({ kind, subjectId: EVENTS[kind].subject })
    const data = byField(kind, ({ example }, name) => example ?? OF_DEPOSIT[name])
    return [kind, { id, event: kind, createdAt: '2026-01-31T12:01:08.000Z', data }]
  }),
)
