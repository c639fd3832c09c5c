import { Link } from '@tanstack/react-router'
import { translations } from '../../base/language.ts'
import { useGet } from '../../base/queries.ts'
import type { ProviderHealth } from '../../contract/types.ts'
import { Card, DetailList, Empty, Page, Skeleton } from '../../ui/page.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { BankIcon } from '../../ui/icons.tsx'
import { BreakerBadge } from '../labels.tsx'

const useTexts = translations({
  title: ['Provedores', 'Providers'],
  text: [
    'Onde as cobranças são criadas, em ordem de preferência. A situação é a vista por este servidor.',
    'Where charges are created, in order of preference. The status is as seen by this server.',
  ],
  lastSuccess: ['Última resposta', 'Last response'],
  never: ['Nenhuma desde o início do serviço', 'None since the service started'],
  lastError: ['Última falha', 'Last failure'],
  noError: ['Nenhuma', 'None'],
  closed: ['Responde normalmente.', 'Responding normally.'],
  open: [
    'Em pausa após falhas repetidas. Novas cobranças vão para o próximo provedor da lista.',
    'Paused after repeated failures. New charges go to the next provider in the list.',
  ],
  'half-open': [
    'A pausa acabou. A próxima chamada mostra se voltou a operar.',
    'The pause is over. The next call shows whether it works again.',
  ],
  closings: ['Ver fechamentos', 'View closings'],
  empty: ['Nenhum provedor configurado', 'No providers configured'],
  emptyText: [
    'Configure os provedores no ambiente do servidor, em PROVIDERS.',
    'Configure providers in the server’s environment, in PROVIDERS.',
  ],
})

const REFRESH_MS = 10_000

export function ProvidersPage() {
  const t = useTexts()
  const providers = useGet<{ providers: ProviderHealth[] }>(['providers'], '/operator/providers', {
    refetchInterval: REFRESH_MS,
  })
  const { data } = providers
  return (
    <Page title={t.title} text={t.text} query={providers}>
      {data?.providers.length === 0 && (
        <Card>
          <Empty title={t.empty} text={t.emptyText} icon={BankIcon} />
        </Card>
      )}
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-2">
        {!data && (
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

function ProviderCard({ provider: { name, breaker, lastError, lastSuccessAt } }: { provider: ProviderHealth }) {
  const t = useTexts()
  return (
    <Card title={name} actions={<BreakerBadge breaker={breaker} />}>
      <p className="mb-4 text-soft">{t[breaker]}</p>
      <DetailList
        details={[
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
