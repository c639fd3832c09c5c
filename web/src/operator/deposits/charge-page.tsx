import { Link, useParams } from '@tanstack/react-router'
import { ApiError } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { useGet } from '../../base/queries.ts'
import type { OperatorDepositRecord } from '../../contract/types.ts'
import { DepositStatus } from '../../deposits/deposit-columns.tsx'
import { Amounts, DepositDetails, Refunds } from '../../deposits/deposit-details.tsx'
import { DepositFrame } from '../../deposits/deposit-frame.tsx'
import { DepositDisputes } from '../../deposits/disputes.tsx'
import { NeighbourLinks, useListFilters } from '../../deposits/neighbours.tsx'
import { Timeline } from '../../deposits/timeline.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { useEventName } from '../../ui/data/event-names.ts'
import { Table } from '../../ui/data/table.tsx'
import { DateTime, Money } from '../../ui/data/values.tsx'
import { SearchIcon } from '../../ui/icons.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Card, DetailList, Empty, Page, Skeleton } from '../../ui/page.tsx'

const useTexts = translations({
  title: ['Cobrança', 'Charge'],
  back: ['Cobranças', 'Charges'],
  missing: ['Cobrança não encontrada', 'Charge not found'],
  missingText: ['O endereço está incompleto, ou ela não existe.', 'The address is incomplete, or it does not exist.'],
  all: ['Ver todas as cobranças', 'View all charges'],
  account: ['Conta', 'Account'],
  name: ['Nome', 'Name'],
  email: ['E-mail', 'Email'],
  provider: ['Provedor', 'Provider'],
  exceptions: (count: number) =>
    count === 1
      ? ['Esta cobrança tem uma exceção', 'This charge has an exception']
      : [`Esta cobrança tem ${count} exceções`, `This charge has ${count} exceptions`],
  exception: (number: number) => [`Ver a exceção ${number}`, `View exception ${number}`],
  ledger: ['No livro-razão', 'In the ledger'],
  ledgerEmpty: ['Nada foi lançado.', 'Nothing was booked.'],
  at: ['Lançado em', 'Booked'],
  when: ['Data', 'Time'],
  movement: ['Débito → crédito', 'Debit → credit'],
  value: ['Valor', 'Amount'],
  balance: ['Saldo depois', 'Balance after'],
  accounts: {
    cash: ['Caixa', 'Cash'],
    balance: ['Saldo da conta', 'Account balance'],
    fees: ['Tarifas', 'Fees'],
    suspense: ['Conta transitória', 'Suspense'],
    refunding: ['Em devolução', 'Refunding'],
    missing: ['A regularizar', 'Missing'],
    written_off: ['Baixas', 'Written off'],
    reserved: ['Reservado', 'Reserved'],
    held: ['Bloqueado', 'Held'],
    paid_out: ['Repassado', 'Paid out'],
  },
  history: ['Lugar no histórico da conta', 'Place in the account’s history'],
  historyEmpty: ['Nenhum evento ainda.', 'No events yet.'],
  position: ['Posição', 'Position'],
  event: ['Evento', 'Event'],
  soon: ['a caminho', 'on its way'],
})

/** Operators have no stream: each is the history of one account. */
const REFRESH_MS = 15_000

export function ChargePage() {
  const t = useTexts()
  const { money } = useFormat()
  const { paymentLinkId = '' } = useParams({ strict: false })
  const record = useGet<OperatorDepositRecord>(
    ['operator-deposit', paymentLinkId],
    `/operator/deposits/${encodeURIComponent(paymentLinkId)}`,
    { refetchInterval: REFRESH_MS },
  )
  const back = useBack()
  const { data } = record
  if (record.error instanceof ApiError && record.error.status === 404) return <Missing back={back} />
  if (!data)
    return (
      <Page title={t.title} back={back} query={record} text={!record.error && <Skeleton className="h-6 w-28" />}>
        <DepositFrame side={<Skeleton className="h-96 w-full rounded-2xl" />}>
          <Skeleton className="h-120 w-full rounded-2xl" />
        </DepositFrame>
      </Page>
    )
  const { deposit, refunds, timeline } = data
  return (
    <Page
      title={money(deposit.value)}
      text={<DepositStatus deposit={deposit} />}
      back={back}
      actions={<NeighbourLinks path="/operator/deposits" deposit={deposit} />}
    >
      <Exceptions ids={data.exceptions} isHeld={deposit.heldValue > 0} />
      <DepositFrame
        side={
          <>
            <Holder record={data} />
            <Amounts deposit={deposit} refunds={refunds} />
          </>
        }
      >
        {refunds.length > 0 && <Refunds refunds={refunds} />}
        <DepositDisputes paymentLinkId={paymentLinkId} />
        <Timeline entries={timeline} />
        <DepositDetails history={data} />
      </DepositFrame>
      <Ledger transfers={data.ledger} />
      <History places={data.history} />
    </Page>
  )
}

type Back = ReturnType<typeof useBack>

/** The list that the reader came from: of one account, or of all. */
function useBack() {
  const t = useTexts()
  const { accountId, ...search } = useListFilters()
  if (accountId === undefined) return { to: '/operator/deposits', label: t.back, search }
  return { to: `/operator/accounts/${accountId}`, label: t.account, search: { ...search, tab: 'deposits' } }
}

function Missing({ back }: { back: Back }) {
  const t = useTexts()
  return (
    <Page title={t.title} back={back}>
      <Card>
        <Empty
          icon={SearchIcon}
          title={t.missing}
          text={t.missingText}
          action={<ButtonLink to="/operator/deposits">{t.all}</ButtonLink>}
        />
      </Card>
    </Page>
  )
}

function Exceptions({ ids, isHeld }: { ids: readonly string[]; isHeld: boolean }) {
  const t = useTexts()
  if (ids.length === 0) return null
  return (
    <Notice tone={isHeld ? 'wait' : 'mark'} title={t.exceptions(ids.length)}>
      <ul className="flex flex-wrap gap-x-4">
        {ids.map((exceptionId, index) => (
          <li key={exceptionId}>
            <Link to="/operator/exceptions/$exceptionId" params={{ exceptionId }} className="font-semibold underline">
              {t.exception(index + 1)}
            </Link>
          </li>
        ))}
      </ul>
    </Notice>
  )
}

function Holder({ record: { account, provider } }: { record: OperatorDepositRecord }) {
  const t = useTexts()
  const link = (
    <Link to="/operator/accounts/$accountId" params={{ accountId: account.id }} className="link">
      {account.name}
    </Link>
  )
  return (
    <Card title={t.account}>
      <DetailList
        details={[
          { name: t.name, value: link },
          { name: t.email, value: account.email },
          { name: t.provider, value: provider },
        ]}
      />
    </Card>
  )
}

function Ledger({ transfers }: { transfers: OperatorDepositRecord['ledger'] }) {
  const t = useTexts()
  const names: Readonly<Record<string, string>> = t.accounts
  /** The server names an account of a provider "cash:main". */
  const nameOf = (account: string) => {
    const [kind = '', provider] = account.split(':')
    return [names[kind] ?? kind, provider && `(${provider})`].filter(Boolean).join(' ')
  }
  return (
    <Card title={t.ledger} isFlush>
      <Table
        caption={t.ledger}
        columns={[
          { header: t.at, width: 'w-52', cell: ({ at }) => <DateTime at={at} /> },
          {
            header: t.movement,
            cell: ({ debit, credit, kind }) => (
              <>
                {nameOf(debit)} → {nameOf(credit)}
                <code className="block font-mono text-xs text-soft">{kind}</code>
              </>
            ),
          },
          { header: t.value, align: 'right', cell: ({ value }) => <Money cents={value} /> },
          {
            header: t.balance,
            align: 'right',
            cell: ({ balanceAfter }) => (balanceAfter === null ? '—' : <Money cents={balanceAfter} />),
          },
        ]}
        list={{ rows: transfers }}
        rowKey={({ transferId }) => transferId}
        empty={<p className="px-5 pb-5 text-soft">{t.ledgerEmpty}</p>}
      />
    </Card>
  )
}

function History({ places }: { places: OperatorDepositRecord['history'] }) {
  const t = useTexts()
  const { count } = useFormat()
  const eventName = useEventName()
  return (
    <Card title={t.history} isFlush>
      <Table
        caption={t.history}
        columns={[
          { header: t.position, width: 'w-32', cell: ({ position }) => (position === null ? t.soon : count(position)) },
          {
            header: t.event,
            cell: ({ event, id }) => (
              <>
                {eventName(event)}
                <code className="block font-mono text-xs text-soft wrap-anywhere">{id}</code>
              </>
            ),
          },
          { header: t.when, width: 'w-52', cell: ({ at }) => <DateTime at={at} /> },
        ]}
        list={{ rows: places }}
        rowKey={({ id }) => id}
        empty={<p className="px-5 pb-5 text-soft">{t.historyEmpty}</p>}
      />
    </Card>
  )
}
