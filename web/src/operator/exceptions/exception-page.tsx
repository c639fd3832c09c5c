import { Link, useParams } from '@tanstack/react-router'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { useGet } from '../../base/queries.ts'
import type { Exception, ExceptionRecord } from '../../contract/types.ts'
import { ChargeStatus, Status } from '../../ui/badge.tsx'
import { ButtonLink, Spinner } from '../../ui/button.tsx'
import { Card, DetailList, Page, Skeleton } from '../../ui/page.tsx'
import { Copyable, DateTime, Money } from '../../ui/data/values.tsx'
import { Notice } from '../../ui/notice.tsx'
import { AccountLink, StateBadge, useActorText, useLabels } from '../labels.tsx'
import { Notes } from './notes.tsx'
import { isAboutRefund, isHeldPayment, Resolve } from './resolve.tsx'

const useTexts = translations({
  title: ['Exceção', 'Exception'],
  exceptions: ['Exceções', 'Exceptions'],
  payment: ['Pagamento', 'Payment'],
  refunded: ['Devolução', 'Refund'],
  value: ['Valor', 'Amount'],
  state: ['Situação', 'Status'],
  provider: ['Provedor', 'Provider'],
  occurredAt: ['Pago em', 'Paid'],
  openedAt: ['Aberta em', 'Opened'],
  endToEndId: ['EndToEndId', 'EndToEndId'],
  payer: ['Pagador', 'Payer'],
  payerMatch: {
    matched: ['É quem a cobrança indica', 'Is the one the charge names'],
    mismatched: ['É outra pessoa', 'Is another person'],
    unknown: ['O provedor ainda não confirmou', 'Not confirmed by the provider yet'],
  },
  txid: ['txid', 'txid'],
  noTxid: ['sem txid', 'no txid'],
  charge: ['Cobrança', 'Charge'],
  code: ['Código da conta', 'Code of the account'],
  noCharge: ['Nenhuma cobrança tem este txid.', 'No charge has this txid.'],
  reference: ['Referência', 'Reference'],
  description: ['Descrição', 'Description'],
  chargeValue: ['Valor da cobrança', 'Charge amount'],
  received: ['Valor recebido', 'Amount received'],
  difference: ['Diferença', 'Difference'],
  chargeStatus: ['Situação da cobrança', 'Charge status'],
  account: ['Conta', 'Account'],
  page: ['Página de pagamento', 'Payment page'],
  ledger: ['No livro-razão', 'In the ledger'],
  holds: {
    suspense: (amount: string) => [
      `${amount} estão na conta transitória, aguardando identificação.`,
      `${amount} is in suspense, not yet allocated.`,
    ],
    nothing: () => [
      'Nada foi lançado: o livro-razão só conta o Pix que o provedor informa.',
      'Nothing was booked: the ledger counts only a Pix that the provider reports.',
    ],
    missing: (amount: string) => [
      `${amount} foram devolvidos fora do guiche. Falta decidir quem assume o valor.`,
      `${amount} was refunded outside guiche. It is not yet decided who covers it.`,
    ],
    refunding: (amount: string) => [
      `${amount} estão reservados para a devolução.`,
      `${amount} is reserved for the refund.`,
    ],
    match: (amount: string) => [
      `${amount} concluíram a cobrança. A conta recebeu o valor menos a tarifa.`,
      `${amount} completed the charge. The account received it net of the fee.`,
    ],
    credit: (amount: string) => [
      `${amount} foram creditados no saldo da conta.`,
      `${amount} was credited to the account’s balance.`,
    ],
    refund: (amount: string) => [`${amount} foram devolvidos ao pagador.`, `${amount} was refunded to the payer.`],
    write_off: (amount: string) => [
      `Baixa de ${amount}: viraram receita da operação.`,
      `${amount} was written off (operator income).`,
    ],
    lost: (amount: string) => [`Baixa de ${amount}: perda da operação.`, `${amount} was written off (operator loss).`],
    charge_account: (amount: string) => [
      `${amount} foram debitados da conta que recebeu o pagamento.`,
      `${amount} was debited from the account that received the payment.`,
    ],
  },
  decision: ['Resolução', 'Resolution'],
  how: ['Ação', 'Action'],
  by: ['Por', 'By'],
  reason: ['Motivo', 'Reason'],
  at: ['Quando', 'When'],
  refund: ['Devolução ao pagador', 'Refund to the payer'],
  refundId: ['ID da devolução', 'Refund ID'],
  running: ['Devolução em andamento', 'Refund in progress'],
  runningText: [
    'O provedor ainda não confirmou. Esta página se atualiza; se a devolução falhar, a exceção volta a ficar pendente.',
    'The provider has not confirmed it yet. This page updates by itself; if the refund fails, the exception reopens.',
  ],
  failed: ['A devolução falhou e a exceção está pendente de novo', 'The refund failed and the exception is open again'],
  failedText: [
    'O dinheiro voltou para a conta transitória. Resposta do provedor:',
    'The money is back in suspense. The provider’s response:',
  ],
  unsaid: ['nenhuma', 'none'],
  place: (position: string, count: string) => [`${position} de ${count} pendentes`, `${position} of ${count} open`],
  left: (count: string) => [count === '1' ? '1 pendente' : `${count} pendentes`, `${count} open`],
  next: ['Próxima', 'Next'],
  nextOpen: ['Abrir a próxima exceção', 'Open the next exception'],
  noneLeft: ['Nenhuma outra exceção está pendente.', 'No other exception is open.'],
})

/** While a refund is in progress. Operators have no stream. */
const FOLLOW_MS = 2_000

export function ExceptionPage() {
  const t = useTexts()
  const labels = useLabels()
  const { exceptionId = '' } = useParams({ strict: false })
  const query = useGet<ExceptionRecord>(['exception', exceptionId], `/operator/exceptions/${exceptionId}`, {
    refetchInterval: ({ state }) => (state.data?.exception.state === 'resolving' ? FOLLOW_MS : false),
  })
  const back = { to: '/operator/exceptions', label: t.exceptions }
  const { data } = query
  if (!data)
    return (
      <Page title={t.title} back={back} query={query} text={!query.error && <Skeleton className="h-4 w-72" />}>
        <div aria-busy="true" className={COLUMNS}>
          <LoadingCard />
          <LoadingCard />
        </div>
      </Page>
    )
  const { exception, notes, queue } = data
  return (
    <Page
      // Another exception is another page, which screen readers begin at its heading.
      key={exception.id}
      title={labels.kind[exception.kind]}
      text={labels.kindText[exception.kind]}
      back={back}
      actions={<Queue queue={queue} />}
    >
      <RefundProgress exception={exception} />
      <div className={COLUMNS}>
        <div className="space-y-6">
          <Payment exception={exception} />
          <ChargeCard exception={exception} />
        </div>
        <div className="space-y-6">
          <Ledger exception={exception} />
          {exception.state === 'open' ? (
            <Resolve key={exception.id} exception={exception} />
          ) : (
            <Decision exception={exception} queue={queue} />
          )}
          <Notes exceptionId={exception.id} notes={notes} />
        </div>
      </div>
    </Page>
  )
}

const COLUMNS = 'grid grid-cols-1 items-start gap-6 lg:grid-cols-[minmax(0,1fr)_minmax(0,26rem)]'

function LoadingCard() {
  return (
    <Card>
      <Skeleton className="h-72 w-full" />
    </Card>
  )
}

type QueueProps = Pick<ExceptionRecord, 'queue'>

function Queue({ queue: { position, count: open, nextId } }: QueueProps) {
  const t = useTexts()
  const { count } = useFormat()
  if (open === 0) return null
  return (
    <div className="flex items-center gap-3">
      <span className="figures text-soft">
        {position === null ? t.left(count(open)) : t.place(count(position), count(open))}
      </span>
      {nextId && (
        <ButtonLink size="small" to={`/operator/exceptions/${nextId}`}>
          {t.next}
        </ButtonLink>
      )}
    </div>
  )
}

function RefundProgress({ exception: { state, refund } }: { exception: Exception }) {
  const t = useTexts()
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

function Payment({ exception }: { exception: Exception }) {
  const t = useTexts()
  return (
    <Card title={isAboutRefund(exception) ? t.refunded : t.payment}>
      <DetailList
        details={[
          { name: t.value, value: <Money cents={exception.value} className="font-semibold" /> },
          { name: t.state, value: <StateBadge state={exception.state} /> },
          { name: t.occurredAt, value: exception.occurredAt && <DateTime at={exception.occurredAt} /> },
          {
            name: t.openedAt,
            value: (
              <>
                <DateTime at={exception.openedAt} />{' '}
                <span className="text-soft">
                  (<DateTime at={exception.openedAt} relative />)
                </span>
              </>
            ),
          },
          { name: t.provider, value: exception.provider },
          { name: t.endToEndId, value: exception.endToEndId && <Copyable text={exception.endToEndId} /> },
          { name: t.payer, value: exception.payerMatch && t.payerMatch[exception.payerMatch] },
          {
            name: t.txid,
            value: exception.txid === null ? t.noTxid : <Copyable text={exception.txid} />,
          },
          ...(isAboutRefund(exception) && exception.refund
            ? [{ name: t.refundId, value: <Copyable text={exception.refund.providerRefundId} /> }]
            : []),
        ]}
      />
    </Card>
  )
}

function CodeCard({ code: { externalId, accountId, email } }: { code: NonNullable<Exception['code']> }) {
  const t = useTexts()
  const account = (
    <Link to="/operator/accounts/$accountId" params={{ accountId }} className="link">
      {email}
    </Link>
  )
  return (
    <Card title={t.code}>
      <DetailList
        details={[
          { name: t.reference, value: externalId },
          { name: t.account, value: account },
        ]}
      />
    </Card>
  )
}

function ChargeCard({ exception }: { exception: Exception }) {
  const t = useTexts()
  const { charge, value, code } = exception
  if (code) return <CodeCard code={code} />
  const isHeld = isHeldPayment(exception)
  if (!charge)
    return (
      <Card title={t.charge}>
        <p className="text-soft">{t.noCharge}</p>
      </Card>
    )
  return (
    <Card title={t.charge}>
      <DetailList
        details={[
          { name: t.reference, value: charge.externalId },
          { name: t.description, value: charge.description },
          { name: t.chargeValue, value: <Money cents={charge.value} /> },
          { name: t.received, value: isHeld ? <Money cents={value} /> : null },
          {
            name: t.difference,
            value:
              isHeld && value !== charge.value ? (
                <Money cents={value - charge.value} sign className="font-medium" />
              ) : null,
          },
          { name: t.chargeStatus, value: <ChargeStatus status={charge.status} /> },
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
  const t = useTexts()
  const { money } = useFormat()
  return (
    <Card title={t.ledger}>
      <p className="figures">{t.holds[placeOf(exception)](money(exception.value))}</p>
    </Card>
  )
}

/** Tells where the money is in the books, by the state of the exception. */
function placeOf({ kind, state, resolution }: Exception) {
  if (kind === 'unnamed_payment') return 'nothing'
  if (state === 'open' || resolution === null) return kind === 'foreign_refund' ? 'missing' : 'suspense'
  if (state === 'resolving') return 'refunding'
  return kind === 'foreign_refund' && resolution.how === 'write_off' ? 'lost' : resolution.how
}

function Decision({ exception, queue }: { exception: Exception } & QueueProps) {
  const { resolution, resolvedAt, refund } = exception
  const t = useTexts()
  const labels = useLabels()
  const actorText = useActorText()
  if (!resolution) return null
  return (
    <Card title={t.decision}>
      <DetailList
        details={[
          { name: t.how, value: labels.resolution[resolution.how] },
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
      <div className="mt-5">
        {queue.nextId === null ? (
          <p className="text-soft">{t.noneLeft}</p>
        ) : (
          <ButtonLink kind="primary" to={`/operator/exceptions/${queue.nextId}`}>
            {t.nextOpen}
          </ButtonLink>
        )}
      </div>
    </Card>
  )
}
