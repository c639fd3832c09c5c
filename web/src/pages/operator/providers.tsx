import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get } from '../../base/api.ts'
import { words } from '../../base/language.ts'
import { Card, Facts } from '../../ui/card.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { BankIcon } from '../../ui/icons.tsx'
import { Page } from '../../ui/page.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Empty, Failure } from '../../ui/table.tsx'
import { BreakerBadge } from './names.tsx'
import type { Provider } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Instituições',
    text: 'De onde vêm as cobranças e os pagamentos, na ordem de preferência. A situação é a que este servidor vê agora.',
    lastSuccess: 'Última resposta boa',
    never: 'Nenhuma desde que o serviço iniciou',
    lastError: 'Última falha',
    noError: 'Nenhuma',
    closed: 'Responde normalmente.',
    open: 'Falhou tanto que não é chamada por um tempo. Novas cobranças vão para a próxima instituição da lista.',
    'half-open': 'A pausa acabou: a próxima chamada diz se volta a operar.',
    closings: 'Ver fechamentos',
    empty: 'Nenhuma instituição configurada',
    emptyText: 'As instituições são configuradas no ambiente do servidor, em PROVIDERS.',
  },
  en: {
    title: 'Providers',
    text: 'Where charges and payments come from, in order of preference. It is what this server sees now.',
    lastSuccess: 'Last good answer',
    never: 'None since the service started',
    lastError: 'Last failure',
    noError: 'None',
    closed: 'Answers as it should.',
    open: 'It failed so often that it is left alone for a while. New charges go to the next provider of the list.',
    'half-open': 'The pause is over: the next call shows whether it works again.',
    closings: 'See closings',
    empty: 'No provider is configured',
    emptyText: 'Providers are configured in the environment of the server, by PROVIDERS.',
  },
})

const REFRESH_MS = 10_000

export function ProvidersPage() {
  const t = useWords()
  const { data, error, refetch } = useQuery({
    queryKey: ['providers'],
    queryFn: ({ signal }) => get<{ providers: Provider[] }>('/operator/providers', {}, { signal }),
    refetchInterval: REFRESH_MS,
  })
  return (
    <Page title={t.title} text={t.text}>
      {!data && error && (
        <Card>
          <Failure error={error} onRetry={() => void refetch()} />
        </Card>
      )}
      {data?.providers.length === 0 && (
        <Card>
          <Empty title={t.empty} text={t.emptyText} icon={<BankIcon className="size-6" />} />
        </Card>
      )}
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-2">
        {!data && !error && (
          <Card>
            <Skeleton className="h-44 w-full" />
          </Card>
        )}
        {data?.providers.map((provider) => (
          <ProviderCard key={provider.name} provider={provider} />
        ))}
      </div>
    </Page>
  )
}

function ProviderCard({ provider: { name, breaker, lastError, lastSuccessAt } }: { provider: Provider }) {
  const t = useWords()
  return (
    <Card title={name} actions={<BreakerBadge breaker={breaker} />}>
      <p className="mb-4 text-soft">{t[breaker]}</p>
      <Facts
        facts={[
          { name: t.lastSuccess, value: lastSuccessAt === null ? t.never : <DateTime at={lastSuccessAt} relative /> },
          {
            name: t.lastError,
            value: lastError === null ? t.noError : <span className="font-mono text-sm">{lastError}</span>,
          },
        ]}
      />
      <Link to="/operator/reconciliation" search={{ provider: name }} className="link mt-4 inline-block">
        {t.closings}
      </Link>
    </Card>
  )
}
