import { Link } from '@tanstack/react-router'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { useGet } from '../../base/queries.ts'
import type { ApiRequest } from '../../contract/types.ts'
import { Copyable, DateTime } from '../../ui/data/values.tsx'
import { Card, DetailList, Page, Skeleton } from '../../ui/page.tsx'
import { StatusBadge } from './requests.tsx'

const useTexts = translations({
  title: ['Requisição', 'Request'],
  back: ['Requisições', 'Requests'],
  several: [
    'Vieram várias requisições com este X-Request-Id; a mais nova é a primeira.',
    'Several requests came with this X-Request-Id; the newest is first.',
  ],
  status: ['Resposta', 'Response'],
  code: ['Código do erro', 'Error code'],
  error: ['Erro', 'Error'],
  request: ['Requisição', 'Request'],
  route: ['Rota', 'Route'],
  parameters: ['Parâmetros', 'Parameters'],
  deposit: ['Depósito', 'Deposit'],
  seeDeposit: ['Ver depósito', 'View deposit'],
  key: ['Chave', 'Key'],
  idempotency: ['Idempotency-Key', 'Idempotency-Key'],
  sent: ['enviada', 'sent'],
  notSent: ['não enviada', 'not sent'],
  at: ['Quando', 'When'],
  duration: ['Duração', 'Duration'],
  network: ['Origem', 'Origin'],
  id: ['X-Request-Id', 'X-Request-Id'],
})

/** What is known of one request, by the id of its answer. */
export function RequestPage({ requestId }: { requestId: string }) {
  const t = useTexts()
  const found = useGet<{ requests: ApiRequest[] }>(
    ['requests', requestId],
    `/requests/${encodeURIComponent(requestId)}`,
  )
  const requests = found.data?.requests
  return (
    <Page
      title={t.title}
      text={requests && requests.length > 1 && t.several}
      back={{ to: '/developers/requests', label: t.back }}
      query={found}
      isNarrow
    >
      {!requests && (
        <Card>
          <Skeleton className="block! h-96 w-full" />
        </Card>
      )}
      {requests?.map((request) => (
        <Record key={request.at} request={request} />
      ))}
    </Page>
  )
}

function Record({ request }: { request: ApiRequest }) {
  const t = useTexts()
  const { count } = useFormat()
  const { paymentLinkId } = request
  return (
    <Card>
      <DetailList
        details={[
          { name: t.status, value: <StatusBadge status={request.status} /> },
          { name: t.code, value: request.errorCode && <Code text={request.errorCode} /> },
          { name: t.error, value: request.error },
          { name: t.request, value: <Code text={`${request.method} ${request.path}`} /> },
          { name: t.route, value: <Code text={request.route} /> },
          {
            name: t.parameters,
            value: request.parameters.length > 0 ? <Code text={request.parameters.join(', ')} /> : null,
          },
          {
            name: t.deposit,
            value: paymentLinkId && (
              <Link to="/deposits/$paymentLinkId" params={{ paymentLinkId }} className="link">
                {t.seeDeposit}
              </Link>
            ),
          },
          {
            name: t.key,
            value: (
              <span className="flex flex-wrap items-center justify-end gap-x-2">
                {request.keyName} {request.keyPrefix && <Code text={`${request.keyPrefix}…`} />}
              </span>
            ),
          },
          { name: t.idempotency, value: request.hasIdempotencyKey ? t.sent : t.notSent },
          { name: t.at, value: <DateTime at={request.at} /> },
          { name: t.duration, value: `${count(request.ms)} ms` },
          { name: t.network, value: <Code text={request.network} /> },
          { name: t.id, value: <Copyable text={request.requestId} /> },
        ]}
      />
    </Card>
  )
}

function Code({ text }: { text: string }) {
  return <code className="font-mono text-[0.8125rem] wrap-anywhere">{text}</code>
}
