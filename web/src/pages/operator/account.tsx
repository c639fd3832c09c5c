import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { get, post } from '../../base/api.ts'
import { useLanguage, words } from '../../base/language.ts'
import { countText } from '../../base/money.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Facts, Figure } from '../../ui/card.tsx'
import { Copyable } from '../../ui/copy-button.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { Money } from '../../ui/money.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Page } from '../../ui/page.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Failure } from '../../ui/table.tsx'
import { toast } from '../../ui/toast.tsx'
import { AccountTerms } from './account-terms.tsx'
import { AccountBadge } from './names.tsx'
import { ReasonDialog } from './reason-dialog.tsx'
import type { Account, AccountCounts, Terms } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Conta',
    accounts: 'Contas',
    facts: 'Dados da conta',
    name: 'Nome',
    email: 'E-mail',
    id: 'Identificador',
    createdAt: 'Criada em',
    status: 'Situação',
    keys: 'Chaves de API ativas',
    webhooks: 'Webhooks',
    log: 'Ver na auditoria',
    balance: 'Saldo',
    completed: 'Depósitos pagos',
    pending: 'Aguardando',
    expired: 'Expirados',
    canceled: 'Cancelados',
    isCut: 'Contados só os 100 mil depósitos mais recentes.',
    suspend: 'Suspender',
    suspendTitle: 'Suspender a conta?',
    suspendText:
      'As chaves de API passam a só consultar: nada de novas cobranças, cancelamentos ou devoluções. Pagamentos que chegarem continuam sendo creditados.',
    suspendDone: 'Conta suspensa.',
    resume: 'Reativar',
    resumeTitle: 'Reativar a conta?',
    resumeText: 'As chaves de API voltam a fazer tudo o que podiam.',
    resumeDone: 'Conta reativada.',
    signOut: 'Encerrar sessões',
    signOutTitle: 'Encerrar todas as sessões?',
    signOutText: 'Quem está no painel com esta conta precisa entrar de novo. As chaves de API continuam funcionando.',
    signOutDone: 'Sessões encerradas.',
    suspended: 'Conta suspensa',
    since: 'desde',
  },
  en: {
    title: 'Account',
    accounts: 'Accounts',
    facts: 'About the account',
    name: 'Name',
    email: 'E-mail',
    id: 'Id',
    createdAt: 'Created at',
    status: 'State',
    keys: 'Active API keys',
    webhooks: 'Webhooks',
    log: 'See in the audit log',
    balance: 'Balance',
    completed: 'Paid deposits',
    pending: 'Pending',
    expired: 'Expired',
    canceled: 'Canceled',
    isCut: 'Only the newest 100,000 deposits are counted.',
    suspend: 'Suspend',
    suspendTitle: 'Suspend the account?',
    suspendText:
      'Its API keys may only read from then on: no new charges, cancellations or refunds. Payments that arrive are still credited.',
    suspendDone: 'The account is suspended.',
    resume: 'Resume',
    resumeTitle: 'Resume the account?',
    resumeText: 'Its API keys may do again what they could before.',
    resumeDone: 'The account is resumed.',
    signOut: 'End sessions',
    signOutTitle: 'End all sessions?',
    signOutText: 'Whoever is in the dashboard with this account must sign in again. Its API keys go on working.',
    signOutDone: 'The sessions are ended.',
    suspended: 'The account is suspended',
    since: 'since',
  },
})

type Answer = { account: Account; terms: Terms; counts: AccountCounts }

export function AccountPage() {
  const t = useWords()
  const { accountId = '' } = useParams({ strict: false })
  const { data, error, refetch } = useQuery({
    queryKey: ['account', accountId],
    queryFn: ({ signal }) => get<Answer>(`/operator/accounts/${accountId}`, {}, { signal }),
  })
  const back = { to: '/operator/accounts', label: t.accounts }
  if (!data && error)
    return (
      <Page title={t.title} back={back}>
        <Card>
          <Failure error={error} onRetry={() => void refetch()} />
        </Card>
      </Page>
    )
  return (
    <Page
      title={data?.account.name ?? t.title}
      back={back}
      actions={
        <>
          <SignOut accountId={accountId} />
          {data ? <Suspension account={data.account} /> : <Button disabled>{t.suspend}</Button>}
        </>
      }
    >
      {data && data.account.suspendedAt !== null && (
        <Notice tone="bad" title={t.suspended}>
          {data.account.suspendedReason} ({t.since} <DateTime at={data.account.suspendedAt} />)
        </Notice>
      )}
      <Counts answer={data} />
      <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-2">
        <About answer={data} accountId={accountId} />
        <AccountTerms accountId={accountId} terms={data?.terms} />
      </div>
    </Page>
  )
}

function Counts({ answer }: { answer: Answer | undefined }) {
  const t = useWords()
  const language = useLanguage()
  const wait = <Skeleton className="h-6 w-20" />
  const count = (number: number | undefined) => (number === undefined ? wait : countText(number, language))
  return (
    <Card>
      <div className="grid grid-cols-2 gap-x-4 gap-y-5 lg:grid-cols-6">
        <div className="col-span-2">
          <Figure label={t.balance} value={answer ? <Money cents={answer.account.balance} /> : wait} />
        </div>
        <Figure label={t.completed} value={count(answer?.counts.completed)} />
        <Figure label={t.pending} value={count(answer?.counts.pending)} />
        <Figure label={t.expired} value={count(answer?.counts.expired)} />
        <Figure label={t.canceled} value={count(answer?.counts.canceled)} />
      </div>
      {answer?.counts.isCut && <p className="mt-3 text-sm text-soft">{t.isCut}</p>}
    </Card>
  )
}

function About({ answer, accountId }: { answer: Answer | undefined; accountId: string }) {
  const t = useWords()
  const language = useLanguage()
  return (
    <Card
      title={t.facts}
      actions={
        <Link to="/operator/audit-log" search={{ accountId }} className="link text-sm">
          {t.log}
        </Link>
      }
    >
      {answer ? (
        <Facts
          facts={[
            { name: t.name, value: answer.account.name },
            { name: t.email, value: answer.account.email },
            { name: t.status, value: <AccountBadge account={answer.account} /> },
            { name: t.createdAt, value: <DateTime at={answer.account.createdAt} /> },
            { name: t.keys, value: countText(answer.counts.activeKeys, language) },
            { name: t.webhooks, value: countText(answer.counts.webhooks, language) },
            { name: t.id, value: <Copyable text={answer.account.id} shown={`${answer.account.id.slice(0, 13)}…`} /> },
          ]}
        />
      ) : (
        <Skeleton className="h-72 w-full" />
      )}
    </Card>
  )
}

function SignOut({ accountId }: { accountId: string }) {
  const t = useWords()
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Button onClick={() => setAsking(true)}>{t.signOut}</Button>
      {isAsking && (
        <ReasonDialog
          onClose={() => setAsking(false)}
          title={t.signOutTitle}
          text={t.signOutText}
          action={t.signOut}
          onConfirm={async (reason) => {
            await post(`/operator/accounts/${accountId}/sign-out`, { reason })
            toast.good(t.signOutDone)
          }}
        />
      )}
    </>
  )
}

function Suspension({ account }: { account: Account }) {
  const t = useWords()
  const queryClient = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const isSuspended = account.suspendedAt !== null
  return (
    <>
      <Button onClick={() => setAsking(true)}>{isSuspended ? t.resume : t.suspend}</Button>
      {isAsking && (
        <ReasonDialog
          onClose={() => setAsking(false)}
          title={isSuspended ? t.resumeTitle : t.suspendTitle}
          text={isSuspended ? t.resumeText : t.suspendText}
          action={isSuspended ? t.resume : t.suspend}
          isDanger={!isSuspended}
          onConfirm={async (reason) => {
            await post(`/operator/accounts/${account.id}/${isSuspended ? 'resume' : 'suspend'}`, { reason })
            toast.good(isSuspended ? t.resumeDone : t.suspendDone)
            await Promise.all([
              queryClient.invalidateQueries({ queryKey: ['account', account.id] }),
              queryClient.invalidateQueries({ queryKey: ['list'] }),
            ])
          }}
        />
      )}
    </>
  )
}
