import { queryOptions } from '@tanstack/react-query'
import { get } from '../../base/api.ts'
import { words } from '../../base/language.ts'

// What the server answers about keys, webhooks and deliveries, and the names of events.

export const SCOPES = ['deposits:write', 'deposits:read', 'balance:read', 'webhooks:write'] as const
export type Scope = (typeof SCOPES)[number]

export type Key = {
  keyId: string
  name: string
  prefix: string
  scopes: Scope[]
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
}

/** What an endpoint can ask for. */
export const EVENTS = ['DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_REFUNDED'] as const
export type EventKind = (typeof EVENTS)[number]

export type Webhook = {
  id: string
  name: string
  url: string
  events: EventKind[]
  hasAuthorization: boolean
  createdAt: string
  enabled: boolean
  disabledAt: string | null
  disabledReason: string | null
  disabledCode: string | null
  failingSince: string | null
  previousSecretUntil: string | null
}

export type TestResult = {
  delivered: boolean
  status: number | null
  error: string | null
  errorCode: string | null
  errorDetail: string | null
  latencyMs: number
  excerpt: string
}

export type Delivery = {
  eventId: string
  event: EventKind | 'WEBHOOK_TEST'
  subject: { paymentLinkId: string | null }
  endpointId: string
  endpointName: string
  status: 'pending' | 'retrying' | 'delivered' | 'failed'
  attempts: number
  lastStatus: number | null
  lastError: string | null
  lastErrorCode: string | null
  lastErrorDetail: string | null
  lastAt: string | null
  nextAt: string | null
  createdAt: string
}

export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'],
  queryFn: ({ signal }) => get<{ webhooks: Webhook[] }>('/webhooks', {}, { signal }),
})

/** It will be tried, for the first time or again. */
export function isQueued(delivery: Pick<Delivery, 'status'> | undefined): boolean {
  return delivery?.status === 'pending' || delivery?.status === 'retrying'
}

export function isAhead(at: string): boolean {
  return Date.parse(at) > Date.now()
}

const useNames = words({
  'pt-BR': {
    DEPOSIT_ASSET_SUCCESS: 'Depósito pago',
    DEPOSIT_REFUNDED: 'Depósito devolvido',
    WEBHOOK_TEST: 'Teste',
  },
  en: { DEPOSIT_ASSET_SUCCESS: 'Deposit paid', DEPOSIT_REFUNDED: 'Deposit refunded', WEBHOOK_TEST: 'Test' },
})

/** An event's kind in words; one that this page does not know yet, as it is. */
export function useEventName(): (event: string) => string {
  const names = useNames()
  return (event) => (Object.hasOwn(names, event) ? names[event as keyof typeof names] : event)
}
