import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { get } from '../../base/api.ts'
import { useLanguage, words } from '../../base/language.ts'
import { moneyText } from '../../base/money.ts'
import { Status } from '../../ui/badge.tsx'
import { Spinner } from '../../ui/button.tsx'
import { Card, Facts } from '../../ui/card.tsx'
import { Copyable } from '../../ui/copy-button.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { Money } from '../../ui/money.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Page } from '../../ui/page.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Failure } from '../../ui/table.tsx'
import { AccountLink, StateBadge, useActorText, useNames } from './names.tsx'
import { Resolve } from './resolve.tsx'
import type { Exception } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Exceção',
    exceptions: 'Exceções',
    payment: 'Pagamento',
    refunded: 'Devolução',
    value: 'Valor',
    state: 'Situação',
    provider: 'Instituição',
    occurredAt: 'Pago em',
    openedAt: 'Aberta em',
    endToEndId: 'EndToEndId',
    txid: 'txid',
    noTxid: 'sem txid',
    charge: 'Cobrança',
    noCharge: 'Nenhuma cobrança nossa tem este txid.',
    chargeValue: 'Valor da cobrança',
    difference: 'Diferença',
    chargeStatus: 'Situação da cobrança',
    account: 'Conta',
    page: 'Página de pagamento',
    ledger: 'O que está no razão',
    holds: {
      suspense: (amount: string) => `${amount} estão na conta transitória: chegaram, e ainda não são de ninguém.`,
      missing: (amount: string) =>
        `${amount} saíram da instituição sem pedido nosso e estão em saídas a atribuir, até que se decida quem arca.`,
      refunding: (amount: string) => `${amount} saíram da conta transitória e estão reservados para a devolução.`,
      match: (amount: string) =>
        `${amount} saíram da conta transitória: concluíram o depósito, e a conta recebeu o valor menos a tarifa.`,
      credit: (amount: string) => `${amount} saíram da conta transitória para o saldo da conta.`,
      refund: (amount: string) => `${amount} saíram da conta transitória e voltaram ao pagador.`,
      write_off: (amount: string) => `${amount} saíram da conta transitória para baixas: ficaram com a casa.`,
      lost: (amount: string) => `${amount} foram para baixas: a casa arcou com a perda.`,
      charge_account: (amount: string) => `${amount} foram debitados do saldo da conta que tinha recebido o pagamento.`,
    },
    decision: 'Decisão',
    how: 'O que se decidiu',
    by: 'Quem',
    reason: 'Por quê',
    at: 'Quando',
    refund: 'Devolução ao pagador',
    refundId: 'Código da devolução',
    running: 'Devolução em andamento',
    runningText:
      'A instituição ainda não confirmou. Esta página acompanha até o fim; se falhar, a exceção volta a ficar aberta.',
    failed: 'A devolução falhou, e a exceção está aberta de novo',
    failedText: 'O dinheiro voltou para a conta transitória. A instituição disse:',
    unsaid: 'nada',
  },
  en: {
    title: 'Exception',
    exceptions: 'Exceptions',
    payment: 'Payment',
    refunded: 'Refund',
    value: 'Amount',
    state: 'State',
    provider: 'Provider',
    occurredAt: 'Paid at',
    openedAt: 'Opened at',
    endToEndId: 'EndToEndId',
    txid: 'txid',
    noTxid: 'without a txid',
    charge: 'Charge',
    noCharge: 'No charge of ours has this txid.',
    chargeValue: 'Amount of the charge',
    difference: 'Difference',
    chargeStatus: 'State of the charge',
    account: 'Account',
    page: 'Payment page',
    ledger: 'What the ledger holds',
    holds: {
      suspense: (amount: string) => `${amount} is in suspense: it arrived, and is nobody’s yet.`,
      missing: (amount: string) =>
        `${amount} left the provider without our asking and stands as missing, until it is decided who bears it.`,
      refunding: (amount: string) => `${amount} left suspense and is reserved for the refund.`,
      match: (amount: string) =>
        `${amount} went from suspense: it completed the deposit, and the account has it less the fee.`,
      credit: (amount: string) => `${amount} went from suspense to the balance of the account.`,
      refund: (amount: string) => `${amount} went from suspense back to the payer.`,
      write_off: (amount: string) => `${amount} went from suspense to written off: the house has kept it.`,
      lost: (amount: string) => `${amount} went to written off: the house bore the loss.`,
      charge_account: (amount: string) =>
        `${amount} was charged to the account that had been credited with the payment.`,
    },
    decision: 'Decision',
    how: 'What was decided',
    by: 'Who',
    reason: 'Why',
    at: 'When',
    refund: 'Refund to the payer',
    refundId: 'Id of the refund',
    running: 'Refund in progress',
    runningText:
      'The provider has not confirmed it yet. This page follows it to its end; if it fails, the exception is open again.',
    failed: 'The refund failed, and the exception is open again',
    failedText: 'The money is back in suspense. The provider said:',
    unsaid: 'nothing',
  },
})

/** While a refund is on its way. */
const FOLLOW_MS = 2_000

export function ExceptionPage() {
  const t = useWords()
  const names = useNames()
  const { exceptionId = '' } = useParams({ strict: false })
  const { data, error, refetch } = useQuery({
    queryKey: ['exception', exceptionId],
    queryFn: ({ signal }) => get<{ exception: Exception }>(`/operator/exceptions/${exceptionId}`, {}, { signal }),
    refetchInterval: ({ state }) => (state.data?.exception.state === 'resolving' ? FOLLOW_MS : false),
  })
  const back = { to: '/operator/exceptions', label: t.exceptions }
  const exception = data?.exception
  if (!exception)
    return (
      <Page title={t.title} back={back} {...(!error && { text: <Skeleton className="h-4 w-72" /> })}>
        {error ? (
          <Card>
            <Failure error={error} onRetry={() => void refetch()} />
          </Card>
        ) : (
          <Waiting />
        )}
      </Page>
    )
  return (
    <Page title={names.kind[exception.kind]} text={names.kindText[exception.kind]} back={back}>
      <RefundProgress exception={exception} />
      <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-[minmax(0,1fr)_minmax(0,26rem)]">
        <div className="space-y-6">
          <Payment exception={exception} />
          <ChargeCard exception={exception} />
        </div>
        <div className="space-y-6">
          <Ledger exception={exception} />
          {exception.state === 'open' ? (
            <Resolve key={exception.id} exception={exception} />
          ) : (
            <Decision exception={exception} />
          )}
        </div>
      </div>
    </Page>
  )
}

function Waiting() {
  return (
    <div aria-busy="true" className="grid grid-cols-1 items-start gap-6 lg:grid-cols-[minmax(0,1fr)_minmax(0,26rem)]">
      <Card>
        <Skeleton className="h-72 w-full" />
      </Card>
      <Card>
        <Skeleton className="h-72 w-full" />
      </Card>
    </div>
  )
}

function RefundProgress({ exception: { state, refund } }: { exception: Exception }) {
  const t = useWords()
  return (
    <div aria-live="polite" className="empty:hidden">
      {state === 'resolving' && (
        <Notice tone="wait" title={t.running} action={<Spinner />}>
          {t.runningText}
        </Notice>
      )}
      {state === 'open' && refund?.status === 'FAILED' && (
        <Notice tone="bad" title={t.failed}>
          {t.failedText} {refund.failure ?? t.unsaid}
        </Notice>
      )}
    </div>
  )
}

/** It is about a refund and not about a payment. */
function isOfRefund({ kind }: Exception): boolean {
  return kind === 'foreign_refund' || kind === 'undone_refund'
}

function Payment({ exception }: { exception: Exception }) {
  const t = useWords()
  return (
    <Card title={isOfRefund(exception) ? t.refunded : t.payment}>
      <Facts
        facts={[
          { name: t.value, value: <Money cents={exception.value} className="font-semibold" /> },
          { name: t.state, value: <StateBadge state={exception.state} /> },
          { name: t.occurredAt, value: <DateTime at={exception.occurredAt} /> },
          { name: t.openedAt, value: <DateTime at={exception.openedAt} /> },
          { name: t.provider, value: exception.provider },
          { name: t.endToEndId, value: <Copyable text={exception.endToEndId} /> },
          {
            name: t.txid,
            value: exception.txid === null ? t.noTxid : <Copyable text={exception.txid} />,
          },
          ...(isOfRefund(exception) && exception.refund
            ? [{ name: t.refundId, value: <Copyable text={exception.refund.providerRefundId} /> }]
            : []),
        ]}
      />
    </Card>
  )
}

function ChargeCard({ exception: { kind, charge, value } }: { exception: Exception }) {
  const t = useWords()
  if (!charge)
    return (
      <Card title={t.charge}>
        <p className="text-soft">{t.noCharge}</p>
      </Card>
    )
  return (
    <Card title={t.charge}>
      <Facts
        facts={[
          { name: t.chargeValue, value: <Money cents={charge.value} /> },
          ...(kind === 'wrong_amount'
            ? [{ name: t.difference, value: <Money cents={value - charge.value} sign className="font-medium" /> }]
            : []),
          { name: t.chargeStatus, value: <Status status={charge.status} /> },
          {
            name: t.account,
            value: (
              <Link to="/operator/accounts/$accountId" params={{ accountId: charge.accountId }} className="link">
                {charge.email}
              </Link>
            ),
          },
          {
            name: t.page,
            value: (
              <a href={`/payment-link/${charge.paymentLinkId}`} target="_blank" rel="noreferrer" className="link">
                {charge.paymentLinkId}
              </a>
            ),
          },
        ]}
      />
    </Card>
  )
}

function Ledger({ exception }: { exception: Exception }) {
  const t = useWords()
  const amount = moneyText(exception.value, useLanguage())
  return (
    <Card title={t.ledger}>
      <p className="figures">{t.holds[placeOf(exception)](amount)}</p>
    </Card>
  )
}

/** Where the money stands, as each step of an exception's life books it. */
function placeOf({ kind, state, resolution }: Exception) {
  if (state === 'open' || resolution === null) return kind === 'foreign_refund' ? 'missing' : 'suspense'
  if (state === 'resolving') return 'refunding'
  return kind === 'foreign_refund' && resolution.how === 'write_off' ? 'lost' : resolution.how
}

function Decision({ exception: { resolution, resolvedAt, refund } }: { exception: Exception }) {
  const t = useWords()
  const names = useNames()
  const actorText = useActorText()
  if (!resolution) return null
  return (
    <Card title={t.decision}>
      <Facts
        facts={[
          { name: t.how, value: names.way[resolution.how] },
          {
            name: t.account,
            value: resolution.accountId === null ? null : <AccountLink accountId={resolution.accountId} />,
          },
          { name: t.by, value: actorText(resolution.by) },
          { name: t.reason, value: resolution.reason },
          { name: t.at, value: resolvedAt === null ? null : <DateTime at={resolvedAt} /> },
          { name: t.refund, value: refund && <Status status={refund.status} /> },
          { name: t.refundId, value: refund && <Copyable text={refund.providerRefundId} /> },
        ]}
      />
    </Card>
  )
}
