import { Link, useParams } from '@tanstack/react-router'
import { post } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { useGet } from '../../base/queries.ts'
import type { Account, AccountDetails } from '../../contract/types.ts'
import { Button, DialogButton } from '../../ui/button.tsx'
import { Card, DetailList, Figure, Page, Skeleton } from '../../ui/page.tsx'
import { Copyable, DateTime, Money } from '../../ui/data/values.tsx'
import { ReasonDialog } from '../../ui/form/form-dialog.tsx'
import { Notice } from '../../ui/notice.tsx'
import { AccountBadge } from '../labels.tsx'
import { AccountTerms } from './account-terms.tsx'

const useTexts = translations({
  title: ['Conta', 'Account'],
  accounts: ['Contas', 'Accounts'],
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
  completed: ['Cobranças pagas', 'Paid charges'],
  pending: ['Aguardando', 'Pending'],
  expired: ['Expiradas', 'Expired'],
  canceled: ['Canceladas', 'Canceled'],
  isCut: ['Só as 100 mil cobranças mais recentes são contadas.', 'Only the newest 100,000 charges are counted.'],
  suspend: {
    title: ['Suspender esta conta?', 'Suspend this account?'],
    text: [
      'As chaves de API só poderão consultar: sem novas cobranças, cancelamentos ou devoluções. Pagamentos recebidos continuam sendo creditados.',
      'Its API keys become read-only: no new charges, cancellations or refunds. Incoming payments are still credited.',
    ],
    action: ['Suspender', 'Suspend'],
    done: ['Conta suspensa.', 'Account suspended.'],
  },
  resume: {
    title: ['Reativar esta conta?', 'Reactivate this account?'],
    text: ['As chaves de API voltam a funcionar por completo.', 'Its API keys work fully again.'],
    action: ['Reativar', 'Reactivate'],
    done: ['Conta reativada.', 'Account reactivated.'],
  },
  signOut: {
    title: ['Encerrar todas as sessões?', 'End all sessions?'],
    text: [
      'Quem usa o painel com esta conta precisa entrar de novo. As chaves de API continuam funcionando.',
      'Everyone using the dashboard with this account must sign in again. API keys keep working.',
    ],
    action: ['Encerrar sessões', 'End sessions'],
    done: ['Sessões encerradas.', 'Sessions ended.'],
  },
  suspended: ['Conta suspensa', 'Account suspended'],
  since: ['desde', 'since'],
})

export function AccountPage() {
  const t = useTexts()
  const { accountId = '' } = useParams({ strict: false })
  const account = useGet<AccountDetails>(['account', accountId], `/operator/accounts/${accountId}`)
  const { data } = account
  return (
    <Page
      query={account}
      title={data?.account.name ?? t.title}
      back={{ to: '/operator/accounts', label: t.accounts }}
      actions={
        (data || !account.error) && (
          <>
            <SignOut accountId={accountId} />
            {data ? <Suspension account={data.account} /> : <Button disabled>{t.suspend.action}</Button>}
          </>
        )
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

function Counts({ answer }: { answer: AccountDetails | undefined }) {
  const t = useTexts()
  const { count } = useFormat()
  const loading = <Skeleton className="h-6 w-20" />
  const counted = (name: 'completed' | 'pending' | 'expired' | 'canceled') => (
    <Figure label={t[name]} value={answer ? count(answer.counts[name]) : loading} />
  )
  return (
    <Card>
      <div className="grid grid-cols-2 gap-x-4 gap-y-5 lg:grid-cols-6">
        <div className="col-span-2">
          <Figure label={t.balance} value={answer ? <Money cents={answer.account.balance} /> : loading} />
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

function SignOut({ accountId }: { accountId: string }) {
  const t = useTexts()
  return (
    <DialogButton
      dialog={(onClose) => (
        <ReasonDialog
          {...t.signOut}
          onClose={onClose}
          onSend={(reason) => post(`/operator/accounts/${accountId}/sign-out`, { reason })}
        />
      )}
    >
      {t.signOut.action}
    </DialogButton>
  )
}

function Suspension({ account }: { account: Account }) {
  const t = useTexts()
  const isSuspended = account.suspendedAt !== null
  const texts = isSuspended ? t.resume : t.suspend
  const send = (reason: string) =>
    post(`/operator/accounts/${account.id}/${isSuspended ? 'resume' : 'suspend'}`, { reason })
  return (
    <DialogButton
      dialog={(onClose) => (
        <ReasonDialog
          {...texts}
          onClose={onClose}
          isDanger={!isSuspended}
          onSend={send}
          refreshes={[['account', account.id], ['list']]}
        />
      )}
    >
      {texts.action}
    </DialogButton>
  )
}
