import { z } from 'zod'
import { text, time, type EventFields, type FieldsInSql } from './event-fields.ts'

// The kinds about an account’s webhooks and keys. Their names are left out: events are kept when an account is erased.

type Disabled = { webhookId: string; disabledCode: string | null; disabledAt: Date | null }

const WEBHOOK_ID = '0199a3c9-51d2-7c06-8f4b-3a6d9e1f0b27'

export const WEBHOOK_DISABLED: EventFields<Disabled> = {
  webhookId: { schema: text('The `id` of the webhook.'), example: WEBHOOK_ID, valueOf: ({ webhookId }) => webhookId },
  reason: {
    schema: text('Its `disabledCode`, such as `failed_for_days`, `receiver_gone` or `deleted`.'),
    example: 'failed_for_days',
    valueOf: ({ disabledCode }) => disabledCode,
  },
  disabledAt: {
    schema: time('When it was disabled. Resend `since` this time to catch up.'),
    example: '2026-01-31T12:01:08.000Z',
    valueOf: ({ disabledAt }) => disabledAt?.toISOString() ?? null,
  },
}

type Key = { keyId: string; prefix: string; scopes: readonly string[] }

const KEY_ID = '0199a3c8-0b1f-7d44-a2c5-6e8f1d3b5a70'

export const KEY_REVOKED: EventFields<Key> = {
  keyId: { schema: text('The `id` of the key.'), example: KEY_ID, valueOf: ({ keyId }) => keyId },
  prefix: {
    schema: text('How the key begins. The key itself is in no event.'),
    example: 'gk_live_4fT9aB',
    valueOf: ({ prefix }) => prefix,
  },
  scopes: {
    schema: z.array(z.string()).meta({ description: 'What it may do.' }),
    example: ['deposits:read'],
    valueOf: ({ scopes }) => scopes,
  },
}

export const KEY_CREATED: EventFields<Key & { expiresAt: Date | null }> = {
  ...KEY_REVOKED,
  expiresAt: {
    schema: time('When it ends by itself. Null: never.').nullable(),
    example: null,
    valueOf: ({ expiresAt }) => expiresAt?.toISOString() ?? null,
  },
}

const TEST_MESSAGE = 'guiche can reach this address. Nothing was paid.'

export const WEBHOOK_TEST: FieldsInSql<null> = {
  message: { schema: z.string(), example: TEST_MESSAGE, valueOf: () => TEST_MESSAGE, sql: `'${TEST_MESSAGE}'::text` },
}

export const ACCOUNT_KINDS = {
  WEBHOOK_DISABLED: {
    name: { en: 'Webhook disabled', 'pt-BR': 'Webhook desativado' },
    summary: { en: 'Another webhook gets no more events', 'pt-BR': 'Outro webhook deixou de receber eventos' },
    description:
      'Sent to the other webhooks of the account, when one is disabled or deleted: by somebody, by an answer of 410, or after five days of failures.',
    subject: 'a7c93e0d15f84b26907de18c4f6a2b53',
    fields: WEBHOOK_DISABLED,
  },
  KEY_CREATED: {
    name: { en: 'API key created', 'pt-BR': 'Chave de API criada' },
    summary: {
      en: 'Somebody made an API key for this account',
      'pt-BR': 'Alguém criou uma chave de API para esta conta',
    },
    description: 'Sent once for each key of the account, whoever created it.',
    subject: KEY_ID,
    fields: KEY_CREATED,
  },
  KEY_REVOKED: {
    name: { en: 'API key revoked', 'pt-BR': 'Chave de API revogada' },
    summary: { en: 'An API key was revoked for good', 'pt-BR': 'Uma chave de API foi revogada de vez' },
    description: 'Sent once for each key of the account, whoever revoked it. A key that expires is not revoked.',
    subject: KEY_ID,
    fields: KEY_REVOKED,
  },
  WEBHOOK_TEST: {
    name: { en: 'Test', 'pt-BR': 'Teste' },
    summary: { en: 'A test', 'pt-BR': 'Um teste' },
    description: 'Sent when a webhook is added, when its URL changes, and on request. Answer 2xx; nothing was paid.',
    subject: '0199a3c31d4e7f20b6a85c9e1d3f7a42',
    fields: WEBHOOK_TEST,
  },
} as const
