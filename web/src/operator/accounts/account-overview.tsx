import { Link } from '@tanstack/react-router'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import type { AccountDetails } from '../../contract/types.ts'
import { Copyable, DateTime, Money } from '../../ui/data/values.tsx'
import { Card, DetailList, Figure, Skeleton } from '../../ui/page.tsx'
import { AccountBadge } from '../labels.tsx'
import { AccountTerms } from './account-terms.tsx'

const useTexts = translations({
  details: ['Detalhes', 'Details'],
  name: ['Nome', 'Name'],
  email: ['E-mail', 'Email'],
  id: ['ID', 'ID'],
  createdAt: ['Criada em', 'Created'],
  status: ['Situação', 'Status'],
  keys: ['Chaves de API ativas', 'Active API keys'],
  webhooks: ['Webhooks', 'Webhooks'],
  log: ['Ver na auditoria', 'View audit log'],
  balance: ['Saldo', 'Balance'],
  owed: (money: string) => [`Deve ${money} por devoluções do banco`, `Owes ${money} for reversals`],
  completed: ['Cobranças pagas', 'Paid charges'],
  pending: ['Aguardando', 'Pending'],
  expired: ['Expiradas', 'Expired'],
  canceled: ['Canceladas', 'Canceled'],
  isCut: ['Só as 100 mil cobranças mais recentes são contadas.', 'Only the newest 100,000 charges are counted.'],
  volume: { today: ['Hoje', 'Today'], last30: ['Últimos 30 dias', 'Last 30 days'] },
  paid: (paid: string, created: string) => [`${paid} de ${created} pagas`, `${paid} of ${created} paid`],
  fees: (money: string) => [`${money} em tarifas`, `${money} in fees`],
})

export function AccountOverview({ answer, accountId }: { answer: AccountDetails | undefined; accountId: string }) {
  return (
    <div className="space-y-6">
      <Counts answer={answer} />
      <Volume answer={answer} />
      <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-2">
        <About answer={answer} accountId={accountId} />
        <AccountTerms accountId={accountId} terms={answer?.terms} />
      </div>
    </div>
  )
}

/** What was paid, and what of it the service earned. */
function Volume({ answer }: { answer: AccountDetails | undefined }) {
  const t = useTexts()
  const { count, money } = useFormat()
  return (
    <Card>
      <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
        {(['today', 'last30'] as const).map((period) => {
          const volume = answer?.volume[period]
          return (
            <Figure
              key={period}
              label={t.volume[period]}
              value={volume ? <Money cents={volume.paidValue} /> : <Skeleton className="h-6 w-28" />}
              note={volume && `${t.paid(count(volume.paid), count(volume.created))} · ${t.fees(money(volume.fees))}`}
            />
          )
        })}
      </div>
    </Card>
  )
}

function Counts({ answer }: { answer: AccountDetails | undefined }) {
  const t = useTexts()
  const { count, money } = useFormat()
  const loading = <Skeleton className="h-6 w-20" />
  const counted = (name: 'completed' | 'pending' | 'expired' | 'canceled') => (
    <Figure label={t[name]} value={answer ? count(answer.counts[name]) : loading} />
  )
  return (
    <Card>
      <div className="grid grid-cols-2 gap-x-4 gap-y-5 lg:grid-cols-6">
        <div className="col-span-2">
          <Figure
            label={t.balance}
            value={answer ? <Money cents={answer.account.balance} /> : loading}
            note={answer && answer.account.owed > 0 ? t.owed(money(answer.account.owed)) : ''}
          />
        </div>
        {counted('completed')}
        {counted('pending')}
        {counted('expired')}
        {counted('canceled')}
      </div>
      {answer?.counts.isCut && <p className="mt-3 text-sm text-soft">{t.isCut}</p>}
    </Card>
  )
}

function About({ answer, accountId }: { answer: AccountDetails | undefined; accountId: string }) {
  const t = useTexts()
  const { count } = useFormat()
  return (
    <Card
      title={t.details}
      actions={
        <Link to="/operator/audit-log" search={{ accountId }} className="link text-sm">
          {t.log}
        </Link>
      }
    >
      {answer ? (
        <DetailList
          details={[
            { name: t.name, value: answer.account.name },
            { name: t.email, value: answer.account.email },
            { name: t.status, value: <AccountBadge account={answer.account} /> },
            { name: t.createdAt, value: <DateTime at={answer.account.createdAt} /> },
            { name: t.keys, value: count(answer.counts.activeKeys) },
            { name: t.webhooks, value: count(answer.counts.webhooks) },
            { name: t.id, value: <Copyable text={answer.account.id} shown={`${answer.account.id.slice(0, 13)}…`} /> },
          ]}
        />
      ) : (
        <Skeleton className="h-72 w-full" />
      )}
    </Card>
  )
}
