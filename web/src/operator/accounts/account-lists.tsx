import { translations } from '../../base/language.ts'
import { useCursorList } from '../../base/queries.ts'
import { useRoleNames } from '../../base/roles.ts'
import { useFormat } from '../../base/format.ts'
import type { AccountDetails, HistoryEntry } from '../../contract/types.ts'
import { Badge } from '../../ui/badge.tsx'
import { useEventName } from '../../ui/data/event-names.ts'
import { Table } from '../../ui/data/table.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { KeyIcon, LogIcon, WebhookIcon } from '../../ui/icons.tsx'
import { Card, Empty } from '../../ui/page.tsx'

const useTexts = translations({
  keys: ['Chaves de API', 'API keys'],
  name: ['Nome', 'Name'],
  scopes: ['Permissões', 'Scopes'],
  created: ['Criada', 'Created'],
  used: ['Último uso', 'Last used'],
  never: ['Nunca', 'Never'],
  revoked: ['Revogada', 'Revoked'],
  expired: ['Vencida', 'Expired'],
  noKeys: ['Nenhuma chave de API', 'No API keys'],
  webhooks: ['Webhooks', 'Webhooks'],
  host: ['Servidor', 'Host'],
  state: ['Situação', 'Status'],
  states: { working: ['Ativo', 'Active'], failing: ['Falhando', 'Failing'], disabled: ['Desativado', 'Disabled'] },
  since: ['Falhando desde', 'Failing since'],
  noWebhooks: ['Nenhum webhook', 'No webhooks'],
  members: ['Membros', 'Members'],
  email: ['E-mail', 'Email'],
  role: ['Papel', 'Role'],
  secondFactor: ['Duas etapas', 'Two-step'],
  on: ['Ativada', 'On'],
  off: ['Desativada', 'Off'],
  signedIn: ['Último acesso', 'Last sign-in'],
  longAgo: ['Não recente', 'Not recently'],
  history: ['Histórico da conta', 'History of the account'],
  historyText: [
    'Os eventos da conta por posição, como ela os lê pela API.',
    'The events of the account by position, as it reads them by the API.',
  ],
  position: ['Posição', 'Position'],
  event: ['Evento', 'Event'],
  about: ['Sobre', 'About'],
  at: ['Data', 'Time'],
  noHistory: ['Nenhum evento ainda', 'No events yet'],
})

type Props = { answer: AccountDetails | undefined }

export function AccountKeys({ answer }: Props) {
  const t = useTexts()
  return (
    <Card isFlush>
      <Table
        caption={t.keys}
        list={{ rows: answer?.keys }}
        rowKey={({ prefix, createdAt }) => `${prefix} ${createdAt}`}
        columns={[
          {
            header: t.name,
            cell: ({ name, prefix, revokedAt, expiresAt }) => (
              <span className="flex flex-col gap-0.5 max-md:items-end">
                <span className="font-medium wrap-anywhere">{name}</span>
                <span className="flex flex-wrap items-center gap-2">
                  <code className="font-mono text-[0.8125rem] text-soft">{prefix}…</code>
                  {revokedAt !== null ? (
                    <Badge>{t.revoked}</Badge>
                  ) : (
                    expiresAt !== null && Date.parse(expiresAt) <= Date.now() && <Badge tone="bad">{t.expired}</Badge>
                  )}
                </span>
              </span>
            ),
          },
          {
            header: t.scopes,
            isProse: true,
            cell: ({ scopes }) => <code className="font-mono text-[0.8125rem] wrap-anywhere">{scopes.join(' ')}</code>,
          },
          { header: t.created, width: 'w-52', cell: ({ createdAt }) => <DateTime at={createdAt} /> },
          {
            header: t.used,
            width: 'w-44',
            cell: ({ lastUsedAt }) => (lastUsedAt === null ? t.never : <DateTime at={lastUsedAt} relative />),
          },
        ]}
        empty={<Empty icon={KeyIcon} title={t.noKeys} />}
      />
    </Card>
  )
}

const TONES = { working: 'good', failing: 'wait', disabled: 'bad' } as const

export function AccountWebhooks({ answer }: Props) {
  const t = useTexts()
  return (
    <Card isFlush>
      <Table
        caption={t.webhooks}
        list={{ rows: answer?.webhooks.map((webhook, index) => ({ ...webhook, index })) }}
        rowKey={({ index }) => String(index)}
        columns={[
          { header: t.name, cell: ({ name }) => <span className="font-medium wrap-anywhere">{name}</span> },
          { header: t.host, cell: ({ host }) => <span className="wrap-anywhere">{host}</span> },
          { header: t.state, width: 'w-36', cell: ({ state }) => <Badge tone={TONES[state]}>{t.states[state]}</Badge> },
          {
            header: t.since,
            width: 'w-52',
            cell: ({ failingSince }) => (failingSince === null ? '—' : <DateTime at={failingSince} />),
          },
        ]}
        empty={<Empty icon={WebhookIcon} title={t.noWebhooks} />}
      />
    </Card>
  )
}

export function AccountMembers({ answer }: Props) {
  const t = useTexts()
  const roleNames = useRoleNames()
  return (
    <Card isFlush>
      <Table
        caption={t.members}
        list={{ rows: answer?.members }}
        rowKey={({ email }) => email}
        columns={[
          { header: t.email, cell: ({ email }) => <span className="font-medium wrap-anywhere">{email}</span> },
          { header: t.role, width: 'w-36', cell: ({ role }) => roleNames[role] },
          {
            header: t.secondFactor,
            width: 'w-36',
            cell: ({ hasSecondFactor }) => (
              <Badge tone={hasSecondFactor ? 'good' : 'wait'}>{hasSecondFactor ? t.on : t.off}</Badge>
            ),
          },
          {
            header: t.signedIn,
            width: 'w-44',
            cell: ({ lastSignInAt }) => (lastSignInAt === null ? t.longAgo : <DateTime at={lastSignInAt} relative />),
          },
        ]}
      />
    </Card>
  )
}

export function AccountHistory({ accountId }: { accountId: string }) {
  const t = useTexts()
  const { count } = useFormat()
  const eventName = useEventName()
  const list = useCursorList<HistoryEntry>({ path: `/operator/accounts/${accountId}/history`, field: 'events' })
  return (
    <Card isFlush title={t.history} text={t.historyText}>
      <Table
        caption={t.history}
        list={list}
        rowKey={({ position }) => String(position)}
        columns={[
          { header: t.position, width: 'w-32', cell: ({ position }) => count(position) },
          {
            header: t.event,
            cell: ({ event, id }) => (
              <>
                <span className="font-medium">{eventName(event)}</span>
                <code className="block font-mono text-xs text-soft wrap-anywhere">{id}</code>
              </>
            ),
          },
          {
            header: t.about,
            isWideOnly: true,
            cell: ({ title }) => <span className="wrap-anywhere">{title ?? '—'}</span>,
          },
          { header: t.at, width: 'w-52', cell: ({ at }) => <DateTime at={at} /> },
        ]}
        empty={<Empty icon={LogIcon} title={t.noHistory} />}
      />
    </Card>
  )
}
