import { useQuery } from '@tanstack/react-query'
import { get } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { useCursorList, useFilters, useGet, type CursorList, type Filters, type List } from '../../base/queries.ts'
import type { ApiRequest, Key } from '../../contract/types.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { choicesOf, FilterBar } from '../../ui/data/filter-bar.tsx'
import { CardLines, Table, type Column } from '../../ui/data/table.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { LogIcon } from '../../ui/icons.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Card, Empty } from '../../ui/page.tsx'

const useTexts = translations({
  title: ['Requisições', 'Requests'],
  text: [
    'O que suas chaves pediram à API, sem corpos e sem valores de parâmetros. Aparecem em um segundo.',
    'What your keys asked the API, without bodies and without values of parameters. They appear within a second.',
  ],
  search: ['X-Request-Id', 'X-Request-Id'],
  status: ['Resposta', 'Response'],
  statuses: {
    '2xx': ['2xx: deu certo', '2xx: succeeded'],
    '4xx': ['4xx: recusada', '4xx: refused'],
    '5xx': ['5xx: falha nossa', '5xx: our failure'],
  },
  method: ['Método', 'Method'],
  key: ['Chave', 'Key'],
  request: ['Requisição', 'Request'],
  error: ['Erro', 'Error'],
  duration: ['Duração', 'Duration'],
  at: ['Quando', 'When'],
  unrecorded: (count: string, days: string) => [
    `${count} requisições dos últimos ${days} dias não foram registradas, porque vieram muitas ao mesmo tempo ou o registro falhou.`,
    `${count} requests of the last ${days} days were not recorded, because too many came at once or recording failed.`,
  ],
  off: ['O registro de requisições está desligado neste serviço.', 'This service does not record requests.'],
  noneFound: ['Nenhuma requisição com estes filtros', 'No requests match these filters'],
  notHere: ['Nenhuma entre as mais recentes', 'None among the latest requests'],
  earlier: ['Procurar nas anteriores', 'Search earlier requests'],
  clear: ['Limpar filtros', 'Clear filters'],
  emptyTitle: ['Nenhuma requisição ainda', 'No requests yet'],
  emptyText: [
    'Quando uma chave chamar a API, a requisição aparece aqui.',
    'Once a key calls the API, its request appears here.',
  ],
})

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
const STATUSES = ['2xx', '4xx', '5xx'] as const
/** The stream does not tell of requests: one for each would cost more than they do. */
const REFRESH_MS = 5_000

type Counts = { unrecorded: number; keptDays: number }
type Shown = Filters<'search' | 'status' | 'method' | 'keyId'>

/** The log of requests by the account's API keys. */
export function Requests() {
  const t = useTexts()
  const filters = useFilters(['search', 'status', 'method', 'keyId'])
  const keys = useGet<{ keys: Key[] }>(['keys'], '/keys').data?.keys ?? []
  return (
    <Card isFlush>
      <p className="px-5 pt-4 text-sm text-soft">{t.text}</p>
      <Unrecorded />
      <div className="border-b border-line">
        <FilterBar
          filters={filters}
          search={{ name: 'search', label: t.search }}
          selects={[
            {
              name: 'status',
              label: t.status,
              choices: STATUSES.map((value) => ({ value, label: t.statuses[value] })),
            },
            { name: 'method', label: t.method, choices: choicesOf(METHODS, (method) => method) },
            // This filter is last, because it grows once the names are loaded.
            { name: 'keyId', label: t.key, choices: keys.map(({ keyId, name }) => ({ value: keyId, label: name })) },
          ]}
        />
      </div>
      {filters.values.search === '' ? <AllRequests filters={filters} /> : <ById filters={filters} />}
    </Card>
  )
}

function Unrecorded() {
  const t = useTexts()
  const { count } = useFormat()
  const { data } = useQuery({
    queryKey: ['requests-unrecorded'],
    queryFn: ({ signal }) => get<Counts>('/requests', { limit: 1 }, { signal }),
  })
  if (!data || (data.unrecorded === 0 && data.keptDays > 0)) return null
  return (
    <div className="px-5 pt-3">
      <Notice>{data.keptDays === 0 ? t.off : t.unrecorded(count(data.unrecorded), count(data.keptDays))}</Notice>
    </div>
  )
}

function AllRequests({ filters }: { filters: Shown }) {
  const { status, method, keyId } = filters.values
  const list = useCursorList<ApiRequest>({
    path: '/requests',
    query: { status, method, keyId },
    field: 'requests',
    refetchIntervalMs: REFRESH_MS,
  })
  return <RequestTable list={list} filters={filters} onEarlier={list.next} />
}

/** An id finds its request whatever the other filters are. */
function ById({ filters }: { filters: Shown }) {
  const id = filters.values.search.trim()
  const found = useGet<{ requests: ApiRequest[] }>(['requests', id], `/requests/${encodeURIComponent(id)}`)
  const rows = found.data?.requests ?? (found.error ? [] : undefined)
  return <RequestTable list={{ rows }} filters={filters} />
}

type Listed = { list: List<ApiRequest> | CursorList<ApiRequest>; filters: Shown; onEarlier?: (() => void) | undefined }

function RequestTable({ list, filters, onEarlier }: Listed) {
  const t = useTexts()
  return (
    <Table
      caption={t.title}
      columns={useColumns()}
      list={list}
      rowKey={({ requestId, at }) => `${requestId} ${at}`}
      rowLink={({ requestId }) => `/developers/requests/${requestId}`}
      card={(request) => (
        <CardLines
          name={<Line request={request} />}
          mark={<StatusBadge status={request.status} />}
          text={request.errorCode ?? request.keyName}
          end={<DateTime at={request.at} isShort />}
        />
      )}
      empty={<NoRequests filters={filters} onEarlier={onEarlier} />}
    />
  )
}

function useColumns(): Column<ApiRequest>[] {
  const t = useTexts()
  const { count } = useFormat()
  return [
    { header: t.request, cell: (request) => <Line request={request} /> },
    { header: t.status, width: 'w-28', cell: ({ status }) => <StatusBadge status={status} /> },
    {
      header: t.error,
      width: 'w-44',
      cell: ({ errorCode }) =>
        errorCode && <code className="font-mono text-[0.8125rem] wrap-anywhere">{errorCode}</code>,
    },
    {
      header: t.key,
      width: 'w-40',
      isWideOnly: true,
      cell: ({ keyName, keyPrefix }) => <span className="wrap-anywhere">{keyName ?? keyPrefix}</span>,
    },
    { header: t.duration, align: 'right', width: 'w-28', cell: ({ ms }) => `${count(ms)} ms` },
    { header: t.at, align: 'right', width: 'w-48', cell: ({ at }) => <DateTime at={at} /> },
  ]
}

function Line({ request: { method, path } }: { request: ApiRequest }) {
  return (
    <span className="font-mono text-[0.8125rem] wrap-anywhere">
      <b>{method}</b> {path}
    </span>
  )
}

export function StatusBadge({ status }: { status: number }) {
  return <Badge tone={status < 400 ? 'good' : status < 500 ? 'wait' : 'bad'}>{status}</Badge>
}

/** The server searches a bounded number of requests per page, so matches may be further back. */
function NoRequests({ filters, onEarlier }: { filters: Shown; onEarlier?: (() => void) | undefined }) {
  const t = useTexts()
  if (onEarlier)
    return <Empty icon={LogIcon} title={t.notHere} action={<Button onClick={onEarlier}>{t.earlier}</Button>} />
  if (filters.isFiltered)
    return <Empty icon={LogIcon} title={t.noneFound} action={<Button onClick={filters.clear}>{t.clear}</Button>} />
  return <Empty icon={LogIcon} title={t.emptyTitle} text={t.emptyText} />
}
