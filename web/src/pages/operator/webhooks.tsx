import { Link } from '@tanstack/react-router'
import { useCursorList } from '../../base/cursor-list.ts'
import { useLanguage, words } from '../../base/language.ts'
import { countText } from '../../base/money.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { WebhookIcon } from '../../ui/icons.tsx'
import { Page } from '../../ui/page.tsx'
import { Pagination } from '../../ui/pagination.tsx'
import { Empty, Table } from '../../ui/table.tsx'
import { useReason } from '../developers/reasons.ts'
import type { TroubledWebhook } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Webhooks com falha',
    text: 'De todas as contas: os que estão falhando e os que foram desativados. Quem conserta e reenvia é o titular da conta.',
    webhook: 'Webhook',
    account: 'Conta',
    state: 'Situação',
    failing: 'Falhando',
    disabled: 'Desativado',
    since: 'desde',
    lastError: 'Última falha',
    answered: (status: number) => `respondeu ${status}`,
    waiting: 'Na fila',
    empty: 'Nenhum webhook com falha',
    emptyText: 'Todos os avisos estão chegando aos clientes.',
  },
  en: {
    title: 'Failing webhooks',
    text: 'Of all accounts: those that fail and those that were disabled. The account holder mends them and sends again.',
    webhook: 'Webhook',
    account: 'Account',
    state: 'State',
    failing: 'Failing',
    disabled: 'Disabled',
    since: 'since',
    lastError: 'Last failure',
    answered: (status: number) => `answered ${status}`,
    waiting: 'In the queue',
    empty: 'No webhook fails',
    emptyText: 'All notices reach the customers.',
  },
})

const REFRESH_MS = 30_000

export function OperatorWebhooksPage() {
  const t = useWords()
  const language = useLanguage()
  const list = useCursorList<TroubledWebhook>({
    path: '/operator/webhook-failures',
    rows: (answer: { endpoints: TroubledWebhook[] }) => answer.endpoints,
    refetchIntervalMs: REFRESH_MS,
  })
  return (
    <Page title={t.title} text={t.text}>
      <Card isFlush>
        <Table
          caption={t.title}
          columns={[
            {
              key: 'webhook',
              header: t.webhook,
              cell: (row) => (
                <>
                  <span className="block font-medium wrap-anywhere">{row.name}</span>
                  <span className="block text-sm text-soft wrap-anywhere">{row.url}</span>
                </>
              ),
            },
            {
              key: 'account',
              header: t.account,
              isActive: true,
              cell: (row) => (
                <Link
                  to="/operator/accounts/$accountId"
                  params={{ accountId: row.accountId }}
                  className="link wrap-anywhere"
                >
                  {row.accountEmail}
                </Link>
              ),
            },
            { key: 'state', header: t.state, cell: (row) => <State webhook={row} /> },
            {
              key: 'lastError',
              header: t.lastError,
              cell: (row) => <LastFailure webhook={row} />,
            },
            {
              key: 'waiting',
              header: t.waiting,
              align: 'right',
              cell: (row) => countText(row.waiting, language),
            },
          ]}
          rows={list.rows}
          rowKey={(row) => row.endpointId}
          error={list.error}
          onRetry={list.retry}
          isStale={list.isStale}
          empty={<Empty title={t.empty} text={t.emptyText} icon={<WebhookIcon className="size-6" />} />}
        />
        <Pagination list={list} />
      </Card>
    </Page>
  )
}

function LastFailure({ webhook }: { webhook: TroubledWebhook }) {
  const t = useWords()
  const reasonText = useReason()
  const { lastStatus, lastError, lastErrorCode, lastErrorDetail } = webhook
  if (lastStatus === null && lastError === null) return '–'
  return (
    <span className="text-sm wrap-anywhere">
      {lastStatus === null
        ? reasonText({ code: lastErrorCode, detail: lastErrorDetail, text: lastError })
        : t.answered(lastStatus)}
    </span>
  )
}

function State({ webhook }: { webhook: TroubledWebhook }) {
  const t = useWords()
  const reasonText = useReason()
  const { disabledAt, disabledReason, disabledCode, failingSince } = webhook
  const since = disabledAt ?? failingSince
  return (
    <>
      <Badge tone={disabledAt === null ? 'wait' : 'bad'}>{disabledAt === null ? t.failing : t.disabled}</Badge>
      {since !== null && (
        <span className="mt-1 block text-sm text-soft">
          {t.since} <DateTime at={since} />
        </span>
      )}
      {disabledReason !== null && (
        <span className="block text-sm text-soft wrap-anywhere">
          {reasonText({ code: disabledCode, text: disabledReason })}
        </span>
      )}
    </>
  )
}
