import type { KnownEvent } from './types.ts'

/**
 * What a webhook carries. `event` names the kind; in a `switch` over it, `data` has the type that belongs to the kind.
 */
export type GuicheEvent = (KnownEvent | OtherEvent) & {
  /** Set in an example that somebody sent from the dashboard. Nothing happened. */
  test?: true
}

/** The event of one kind, such as `EventOf<'DEPOSIT_REFUNDED'>`. */
export type EventOf<Kind extends KnownEvent['event']> = Extract<KnownEvent, { event: Kind }>

/** A kind that this version does not know. It is as genuine as the others: answer 2xx, or it is sent again. */
export type OtherEvent = { id: string; event: OtherKind; createdAt: string; data: Record<string, unknown> }

/**
 * At run time this is any other string. TypeScript cannot say "every string but these". A plain `string` would stay in
 * every branch of a `switch` and blur each `data`, so this is a pattern that no known kind fits. Compare with a kind
 * newer than this package as `String(event.event) === 'NEW_KIND'`.
 */
export type OtherKind = `another kind: ${string}`
