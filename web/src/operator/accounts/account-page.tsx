import { useParams } from '@tanstack/react-router'
import { post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { useGet } from '../../base/queries.ts'
import type { Account, AccountDetails } from '../../contract/types.ts'
import { Button, DialogButton } from '../../ui/button.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { ReasonDialog } from '../../ui/form/form-dialog.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Page } from '../../ui/page.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { ChargeList } from '../deposits/charge-list.tsx'
import { AskForPayout } from '../payouts/ask-for-payout.tsx'
import { AccountHistory, AccountKeys, AccountMembers, AccountWebhooks } from './account-lists.tsx'
import { AccountOverview } from './account-overview.tsx'

const useTexts = translations({
  title: ['Conta', 'Account'],
  accounts: ['Contas', 'Accounts'],
  parts: ['Partes da conta', 'Parts of the account'],
  overview: ['Visão geral', 'Overview'],
  charges: ['Cobranças', 'Charges'],
  keys: ['Chaves', 'Keys'],
  webhooks: ['Webhooks', 'Webhooks'],
  members: ['Membros', 'Members'],
  history: ['Histórico', 'History'],
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
            {data && <AskForPayout account={data.account} />}
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
      <Tabs
        label={t.parts}
        tabs={[
          { value: 'overview', label: t.overview, content: <AccountOverview answer={data} accountId={accountId} /> },
          { value: 'deposits', label: t.charges, content: <ChargeList accountId={accountId} /> },
          { value: 'keys', label: t.keys, content: <AccountKeys answer={data} /> },
          { value: 'webhooks', label: t.webhooks, content: <AccountWebhooks answer={data} /> },
          { value: 'members', label: t.members, content: <AccountMembers answer={data} /> },
          { value: 'history', label: t.history, content: <AccountHistory accountId={accountId} /> },
        ]}
      />
    </Page>
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
