import { useParams } from '@tanstack/react-router'
import { useEffect, useRef, useState, type ComponentProps } from 'react'
import { ApiError, get, post } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { useIsFollowing } from '../../base/history.ts'
import { translations } from '../../base/language.ts'
import { queryClient, useGet } from '../../base/queries.ts'
import { useMay, useService } from '../../base/session.ts'
import type { DepositHistory, Refund } from '../../contract/types.ts'
import { ActionButton, Button, ButtonLink } from '../../ui/button.tsx'
import { useStatusText } from '../../ui/badge.tsx'
import { Card, Empty, Page, Skeleton } from '../../ui/page.tsx'
import { ConfirmDialog } from '../../ui/form/form-dialog.tsx'
import { RefreshIcon, SearchIcon } from '../../ui/icons.tsx'
import { Notice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { isPayable, refundableCents } from '../../deposits/deposit-amounts.ts'
import { DepositStatus } from '../../deposits/deposit-columns.tsx'
import { Amounts, DepositDetails, Refunds } from '../../deposits/deposit-details.tsx'
import { deliveryPath } from '../developers/webhook-events.ts'
import { useDepositErrorText } from './deposit-errors.ts'
import { PaymentCode } from './payment-code.tsx'
import { RefundDialog, refundToast } from './refund-dialog.tsx'
import { DepositFrame } from '../../deposits/deposit-frame.tsx'
import { DepositDisputes } from '../../deposits/disputes.tsx'
import { NeighbourLinks, useListFilters } from '../../deposits/neighbours.tsx'
import { Timeline } from '../../deposits/timeline.tsx'
import { Share } from './share.tsx'

const useTexts = translations({
  title: ['Depósito', 'Deposit'],
  back: ['Depósitos', 'Deposits'],
  pay: ['Para o pagador', 'For the payer'],
  receipt: ['Recibo para o pagador', 'Receipt for the payer'],
  check: ['Consultar agora', 'Check now'],
  checked: ['Consultado agora: ainda não foi pago.', 'Checked just now: not paid yet.'],
  cancel: ['Cancelar', 'Cancel'],
  cancelTitle: ['Cancelar este depósito?', 'Cancel this deposit?'],
  cancelText: [
    'O QR code e o código Pix deixam de valer. Não dá para desfazer.',
    'The QR code and the Pix code stop working. This cannot be undone.',
  ],
  cancelAction: ['Cancelar depósito', 'Cancel deposit'],
  refund: ['Devolver', 'Refund'],
  refundDone: ['Devolução concluída.', 'Refund succeeded.'],
  refundFailed: [
    'O banco recusou a devolução. O valor voltou ao saldo.',
    'The bank declined the refund. The amount is back in your balance.',
  ],
  askOperator: [
    'Para devolver este depósito ao pagador, fale com a equipe do guiche.',
    'To refund this deposit to the payer, contact the guiche team.',
  ],
  missing: ['Depósito não encontrado', 'Deposit not found'],
  missingText: [
    'Ele não existe nesta conta ou o endereço está incompleto.',
    'It does not exist in this account, or the address is incomplete.',
  ],
  all: ['Ver todos os depósitos', 'View all deposits'],
  now: (status: string) => [`Situação: ${status}`, `Status: ${status}`],
  held: (money: string) => [`Recebemos ${money} para este depósito`, `We received ${money} for this deposit`],
  heldText: (money: string) => [
    `O depósito é de ${money}, por isso o valor está em análise até a equipe do guiche decidir: concluir, creditar ou devolver. A página de pagamento pede ao pagador que não pague de novo.`,
    `The deposit is for ${money}, so it is under review until the guiche team decides: complete, credit or refund. The payment page asks the payer not to pay again.`,
  ],
  heldBesides: (money: string) => [
    `Recebemos mais ${money} para este depósito, que já estava pago`,
    `We received another ${money} for this deposit, which was already paid`,
  ],
  heldOfPayer: [
    'O provedor é consultado sobre quem pagou. Só o dinheiro da pessoa indicada é creditado; o de outra volta por si.',
    'The provider is asked who paid. Only money of the person you named is credited; that of another goes back by itself.',
  ],
  heldOfOrder: (money: string) => [
    `Recebemos ${money} para este depósito, mas outro depósito já pagou o pedido`,
    `We received ${money} for this deposit, but another deposit already paid its order`,
  ],
  heldBesidesText: [
    'O valor está em análise até a equipe do guiche decidir: creditar ou devolver.',
    'It is under review until the guiche team decides: credit or refund.',
  ],
  kept: (money: string) => [
    `Recebemos ${money}, e a equipe do guiche já resolveu`,
    `We received ${money}, and the guiche team resolved it`,
  ],
  keptText: [
    'A página não pede mais o pagamento. Se faltar algum valor, crie outro depósito.',
    'The page no longer asks for payment. If an amount is missing, create another deposit.',
  ],
})

/** Somebody may wait for the payment. Only while no stream tells of changes. */
const POLL_MS = 5_000
/** The history does not tell of deliveries. Most have ended by then. */
const DELIVERED_MS = 5_000

export function DepositPage() {
  const t = useTexts()
  const { paymentLinkId = '' } = useParams({ strict: false })
  const history = useDepositHistory(paymentLinkId)
  const back = { to: '/deposits', label: t.back, search: useListFilters() }
  if (history.data)
    return <Loaded key={paymentLinkId} history={history.data} onChange={() => void history.refetch()} back={back} />
  if (history.error instanceof ApiError && history.error.status === 404)
    return (
      <Page title={t.title} back={back}>
        <Card>
          <Empty
            icon={SearchIcon}
            title={t.missing}
            text={t.missingText}
            action={<ButtonLink to="/deposits">{t.all}</ButtonLink>}
          />
        </Card>
      </Page>
    )
  return (
    <Page title={t.title} back={back} query={history} text={!history.error && <Skeleton className="h-6 w-28" />}>
      <DepositFrame side={<Skeleton className="h-96 w-full rounded-2xl" />}>
        <Skeleton className="h-120 w-full rounded-2xl" />
      </DepositFrame>
    </Page>
  )
}

function useDepositHistory(paymentLinkId: string) {
  const path = `/deposit/${encodeURIComponent(paymentLinkId)}/timeline`
  const isFollowing = useIsFollowing()
  const history = useGet<DepositHistory>(['deposit', paymentLinkId], path, {
    staleTime: 0,
    refetchInterval: ({ state: { data } }) => (!isFollowing && data && isMoving(data) ? POLL_MS : false),
  })
  const { refetch } = history
  // Other pages may have cached an older state.
  const { deposit, refunds = [] } = history.data ?? {}
  const state = deposit && [deposit.status, deposit.heldValue, ...refunds.map((refund) => refund.status)].join(' ')
  const seen = useRef(state)
  useEffect(() => {
    const isChanged = seen.current !== undefined && state !== seen.current
    seen.current = state
    if (!isChanged) return
    void queryClient.invalidateQueries({
      predicate: ({ queryKey }) => queryKey[0] !== 'deposit' && queryKey[0] !== 'me',
    })
    const timer = setTimeout(() => void refetch(), DELIVERED_MS)
    return () => clearTimeout(timer)
  }, [state, refetch])
  return history
}

function isMoving({ deposit, refunds }: DepositHistory): boolean {
  return (
    deposit.status === 'PENDING' || deposit.heldValue > 0 || refunds.some((refund) => refund.status === 'PROCESSING')
  )
}

function Loaded(props: { history: DepositHistory; onChange: () => void; back: ComponentProps<typeof Page>['back'] }) {
  const t = useTexts()
  const { money } = useFormat()
  const statusText = useStatusText()
  const { history, onChange } = props
  const { deposit, refunds, timeline } = history
  const [dialog, setDialog] = useState<'cancel' | 'refund'>()
  const may = useMay()
  const mayCancel = may('deposits:write') || may('deposits:today')
  const mayRefund = useService().accountsMayRefund
  const canRefund = refundableCents(history) > 0
  const close = () => setDialog(undefined)
  useRefundToasts(refunds)
  return (
    <Page
      title={money(deposit.value)}
      text={<DepositStatus deposit={deposit} />}
      {...(props.back && { back: props.back })}
      actions={
        <>
          {deposit.status === 'PENDING' && <CheckNow paymentLinkId={deposit.paymentLinkId} onChecked={onChange} />}
          {deposit.status === 'PENDING' && mayCancel && <Button onClick={() => setDialog('cancel')}>{t.cancel}</Button>}
          {mayRefund && canRefund && may('refunds:write') && (
            <Button onClick={() => setDialog('refund')}>{t.refund}</Button>
          )}
          <NeighbourLinks path="/deposits" deposit={deposit} />
        </>
      }
    >
      {/* The page updates by itself, and tells screen readers. */}
      <p role="status" className="sr-only">
        {t.now(statusText(deposit.status))}
      </p>
      <HeldNotice history={history} />
      <DepositFrame
        side={
          <>
            <ForPayer deposit={deposit} />
            <Amounts deposit={deposit} refunds={refunds} />
            {!mayRefund && canRefund && may('refunds:write') && (
              <p className="px-1 text-sm text-soft">{t.askOperator}</p>
            )}
          </>
        }
      >
        {refunds.length > 0 && <Refunds refunds={refunds} />}
        {may('deposits:read') && <DepositDisputes paymentLinkId={deposit.paymentLinkId} />}
        <Timeline entries={timeline} deliveryPath={deliveryPath} />
        <DepositDetails history={history} />
      </DepositFrame>
      {dialog === 'cancel' && (
        <CancelDialog paymentLinkId={deposit.paymentLinkId} onClose={close} onChange={onChange} />
      )}
      {dialog === 'refund' && <RefundDialog history={history} onClose={close} onRefunded={onChange} />}
    </Page>
  )
}

function ForPayer({ deposit }: { deposit: DepositHistory['deposit'] }) {
  const t = useTexts()
  if (isPayable(deposit))
    return (
      <Card title={t.pay}>
        <PaymentCode deposit={deposit} />
      </Card>
    )
  if (deposit.status !== 'COMPLETED') return null
  return (
    <Card title={t.receipt}>
      <div className="flex flex-wrap gap-2">
        <Share deposit={{ ...deposit, value: deposit.receivedValue ?? deposit.value }} />
      </div>
    </Card>
  )
}

/** Shows how a refund ended that was in progress when the page last looked. */
function useRefundToasts(refunds: readonly Refund[]): void {
  const t = useTexts()
  const underWay = useRef(new Set<string>())
  useEffect(() => {
    for (const { id, status } of refunds) {
      if (status === 'PROCESSING') underWay.current.add(id)
      else if (underWay.current.delete(id))
        if (status === 'DONE') toast.good(t.refundDone, refundToast(id))
        else toast.bad(new ApiError(200, 'refund_failed', t.refundFailed), refundToast(id))
    }
  }, [refunds, t])
}

function HeldNotice({ history: { deposit, timeline } }: { history: DepositHistory }) {
  const { status, value, heldValue, keptValue } = deposit
  const t = useTexts()
  const { money } = useFormat()
  const isPaid = status === 'COMPLETED'
  const isOfPaidOrder = timeline.some((entry) => entry.kind === 'payment_held' && entry.why === 'second_payment')
  const isOfPayer = !isPaid && deposit.payer?.policy === 'require' && deposit.payerMatch !== null
  const title = isPaid ? t.heldBesides : isOfPaidOrder ? t.heldOfOrder : t.held
  if (heldValue > 0)
    return (
      <Notice tone="wait" title={title(money(heldValue))}>
        {isOfPayer ? t.heldOfPayer : isPaid || isOfPaidOrder ? t.heldBesidesText : t.heldText(money(value))}
      </Notice>
    )
  if (keptValue === 0 || isPaid) return null
  return (
    <Notice tone="mark" title={t.kept(money(keptValue))}>
      {t.keptText}
    </Notice>
  )
}

/** Asks the provider now, because a shop may have the payer on the phone. */
function CheckNow({ paymentLinkId, onChecked }: { paymentLinkId: string; onChecked: () => void }) {
  const t = useTexts()
  const check = async () => {
    const { charge } = await get<{ charge: { status: string } }>(`/deposit/${paymentLinkId}`)
    onChecked()
    if (charge.status === 'PENDING') toast.good(t.checked)
  }
  return (
    <ActionButton icon={RefreshIcon} onAction={check}>
      {t.check}
    </ActionButton>
  )
}

function CancelDialog(props: { paymentLinkId: string; onClose: () => void; onChange: () => void }) {
  const t = useTexts()
  return (
    <ConfirmDialog
      title={t.cancelTitle}
      text={t.cancelText}
      action={t.cancelAction}
      isDanger
      // Reloads after a refusal too, because the deposit may have been paid meanwhile.
      onSend={() => post(`/deposit/${props.paymentLinkId}/cancel`).finally(props.onChange)}
      onClose={props.onClose}
      errorText={useDepositErrorText()}
    />
  )
}
