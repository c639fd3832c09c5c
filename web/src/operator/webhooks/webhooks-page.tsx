import { Link } from '@tanstack/react-router'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { useCursorList } from '../../base/queries.ts'
import type { FailingWebhook } from '../../contract/types.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card, Empty, Page } from '../../ui/page.tsx'
import { useReasonText } from '../../ui/data/delivery-reasons.ts'
import { Table } from '../../ui/data/table.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { WebhookIcon } from '../../ui/icons.tsx'

const useTexts = translations({
  title: ['Webhooks com falha', 'Failing webhooks'],
  text: [
    'Webhooks de todas as contas que estão falhando ou foram desativados. O titular da conta corrige e reenvia.',
    'Webhooks of all accounts that are failing or were disabled. The account holder fixes and resends them.',
  ],
  webhook: ['Webhook', 'Webhook'],
  account: ['Conta', 'Account'],
  state: ['Situação', 'Status'],
  failing: ['Falhando', 'Failing'],
  disabled: ['Desativado', 'Disabled'],
  since: ['desde', 'since'],
  lastError: ['Última falha', 'Last failure'],
  answered: (status: number) => [`respondeu ${status}`, `responded ${status}`],
  pending: ['Pendentes', 'Pending'],
  empty: ['Nenhum webhook com falha', 'No failing webhooks'],
  emptyText: ['Todas as contas estão recebendo seus eventos.', 'All accounts receive their events.'],
})

/** Operators have no stream: each is the history of one account. */
const REFRESH_MS = 30_000

export function OperatorWebhooksPage() {
  const t = useTexts()
  const { count } = useFormat()
  const list = useCursorList<FailingWebhook>({
    path: '/operator/webhook-failures',
    field: 'webhooks',
    refetchIntervalMs: REFRESH_MS,
  })
  return (
    <Page title={t.title} text={t.text}>
      <Card isFlush>
        <Table
          caption={t.title}
          columns={[
            {
              header: t.webhook,
              cell: (row) => (
                <>
                  <span className="block font-medium wrap-anywhere">{row.name}</span>
                  <span className="block text-sm text-soft wrap-anywhere">{row.url}</span>
                </>
              ),
            },
            {
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
            { header: t.state, cell: (row) => <State webhook={row} /> },
            {
              header: t.lastError,
              cell: (row) => <LastFailure webhook={row} />,
            },
            {
              header: t.pending,
              align: 'right',
              cell: (row) => count(row.pending),
            },
          ]}
          list={list}
          rowKey={(row) => row.webhookId}
          empty={<Empty title={t.empty} text={t.emptyText} icon={WebhookIcon} />}
        />
      </Card>
    </Page>
  )
}

function LastFailure({ webhook }: { webhook: FailingWebhook }) {
  const t = useTexts()
  const reasonText = useReasonText()
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

function State({ webhook }: { webhook: FailingWebhook }) {
  const t = useTexts()
  const reasonText = useReasonText()
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
