import { translations } from '../../base/language.ts'
import { useCursorList, useFilters } from '../../base/queries.ts'
import { useMay } from '../../base/session.ts'
import type { Code } from '../../contract/types.ts'
import { Badge, Status, useStatusText } from '../../ui/badge.tsx'
import { DialogButton } from '../../ui/button.tsx'
import { choicesOf, FilterBar } from '../../ui/data/filter-bar.tsx'
import { CardLines, Table, type Column } from '../../ui/data/table.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { PlusIcon, QrIcon, SearchIcon } from '../../ui/icons.tsx'
import { Card, Empty, Page } from '../../ui/page.tsx'
import { CodeDialog, useLimitsText } from './code-dialog.tsx'

const useTexts = translations({
  title: ['Códigos', 'Codes'],
  text: [
    'Um código não expira: o mesmo QR code recebe vários pagamentos, e cada um vira um depósito. Use um por cliente, mesa ou loja.',
    'A code does not expire: the same QR code takes many payments, and each one becomes a deposit. Use one for each customer, table or shop.',
  ],
  create: ['Novo código', 'New code'],
  status: ['Todas as situações', 'All statuses'],
  state: ['Situação', 'Status'],
  externalId: ['Referência', 'Reference'],
  limits: ['Valores aceitos', 'Amounts taken'],
  created: ['Criado em', 'Created'],
  held: ['Em análise', 'Under review'],
  empty: {
    title: ['Nenhum código ainda', 'No codes yet'],
    text: ['Crie o primeiro e imprima o QR code.', 'Make the first one and print its QR code.'],
  },
  none: {
    title: ['Nenhum código encontrado', 'No codes found'],
    text: ['Mude o filtro para ver outros.', 'Change the filter to see others.'],
  },
})

const PAGE_ROWS = 25

export function CodesPage() {
  const t = useTexts()
  const statusText = useStatusText()
  const limitsText = useLimitsText()
  const columns = useColumns()
  const may = useMay()
  const filters = useFilters(['status'])
  const list = useCursorList<Code>({
    path: '/codes',
    query: { ...filters.values, limit: PAGE_ROWS },
    field: 'codes',
  })
  return (
    <Page
      title={t.title}
      text={t.text}
      actions={
        may('deposits:write') && (
          <DialogButton
            icon={PlusIcon}
            kind="primary"
            opensBy="new"
            dialog={(onClose) => <CodeDialog onClose={onClose} />}
          >
            {t.create}
          </DialogButton>
        )
      }
    >
      <Card isFlush>
        <FilterBar
          filters={filters}
          selects={[{ name: 'status', label: t.status, choices: choicesOf(['OPEN', 'CLOSED'] as const, statusText) }]}
        />
        <Table
          caption={t.title}
          columns={columns}
          list={list}
          rowKey={({ id }) => id}
          rowLink={({ externalId }) => `/codes/${encodeURIComponent(externalId)}`}
          card={(code) => (
            <CardLines
              name={code.externalId}
              mark={<State code={code} />}
              text={code.description || limitsText(code)}
              end={<DateTime at={code.createdAt} isShort />}
            />
          )}
          empty={filters.isFiltered ? <Empty icon={SearchIcon} {...t.none} /> : <Empty icon={QrIcon} {...t.empty} />}
        />
      </Card>
    </Page>
  )
}

function useColumns(): Column<Code>[] {
  const t = useTexts()
  const limitsText = useLimitsText()
  return [
    {
      header: t.externalId,
      cell: ({ externalId, description }) => (
        <span className="block wrap-anywhere">
          {externalId}
          {description && <span className="block text-sm text-soft">{description}</span>}
        </span>
      ),
    },
    { header: t.limits, cell: limitsText },
    {
      header: t.state,
      width: 'w-44',
      cell: (code) => <State code={code} />,
    },
    { header: t.created, width: 'w-52', isWideOnly: true, cell: ({ createdAt }) => <DateTime at={createdAt} /> },
  ]
}

function State({ code: { status, heldValue } }: { code: Code }) {
  const t = useTexts()
  return (
    <span className="flex flex-wrap gap-1.5">
      <Status status={status} />
      {heldValue > 0 && <Badge tone="wait">{t.held}</Badge>}
    </span>
  )
}
