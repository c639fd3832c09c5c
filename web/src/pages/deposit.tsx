import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { ApiError, get, post } from '../base/api.ts'
import { useLanguage, words } from '../base/language.ts'
import { moneyText } from '../base/money.ts'
import { useService } from '../base/session.ts'
import { useStatusText } from '../ui/badge.tsx'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Card } from '../ui/card.tsx'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { RefreshIcon, SearchIcon } from '../ui/icons.tsx'
import { Notice } from '../ui/notice.tsx'
import { Page } from '../ui/page.tsx'
import { Skeleton } from '../ui/skeleton.tsx'
import { Empty, Failure } from '../ui/table.tsx'
import { toast } from '../ui/toast.tsx'
import { DepositStatus } from './deposits/columns.tsx'
import { Amounts, Details, Refunds } from './deposits/facts.tsx'
import { PaymentCode } from './deposits/payment-code.tsx'
import { RefundDialog } from './deposits/refund-dialog.tsx'
import { useRefusalText } from './deposits/refusals.ts'
import { asksToPay, refundableCents, type Deposit, type DepositLife } from './deposits/shapes.ts'
import { Timeline } from './deposits/timeline.tsx'

const useWords = words({
  'pt-BR': {
    title: 'Depósito',
    back: 'Depósitos',
    pay: 'Para o pagador',
    check: 'Consultar agora',
    checked: 'Consultado agora: ainda não foi pago',
    cancel: 'Cancelar',
    cancelTitle: 'Cancelar este depósito?',
    cancelText: 'O QR code e o código deixam de valer. Não dá para desfazer.',
    cancelAction: 'Cancelar depósito',
    refund: 'Devolver',
    askOperator: 'Para devolver este depósito ao pagador, fale com o operador: aqui, só ele faz devoluções.',
    missing: 'Depósito não encontrado',
    missingText: 'Ele não existe nesta conta, ou o endereço está incompleto.',
    all: 'Ver todos os depósitos',
    now: (status: string) => `Situação: ${status}`,
    held: (money: string) => `Recebemos ${money} para este depósito`,
    heldText: (money: string) =>
      `O depósito é de ${money}, e por isso o dinheiro está guardado até o operador decidir: concluir, creditar ou devolver. A página de pagamento diz ao pagador que não pague de novo.`,
    heldBesides: (money: string) => `Recebemos mais ${money} para este depósito, que já estava pago`,
    heldBesidesText: 'O dinheiro está guardado até o operador decidir: creditar ou devolver.',
    kept: (money: string) => `Recebemos ${money}, e o operador já decidiu o que fazer`,
    keptText: 'O pagador não é mais convidado a pagar. Se faltar algum valor, crie outro depósito.',
  },
  en: {
    title: 'Deposit',
    back: 'Deposits',
    pay: 'For the payer',
    check: 'Check now',
    checked: 'Checked just now: not paid yet',
    cancel: 'Cancel',
    cancelTitle: 'Cancel this deposit?',
    cancelText: 'The QR code and the code stop working. This cannot be undone.',
    cancelAction: 'Cancel deposit',
    refund: 'Refund',
    askOperator: 'To refund this deposit to its payer, ask your operator: here only they make refunds.',
    missing: 'Deposit not found',
    missingText: 'This account has no such deposit, or the address is incomplete.',
    all: 'See all deposits',
    now: (status: string) => `Status: ${status}`,
    held: (money: string) => `We received ${money} for this deposit`,
    heldText: (money: string) =>
      `The deposit is for ${money}, so the money is held until the operator decides: complete it, credit it or give it back. The payment page tells the payer not to pay again.`,
    heldBesides: (money: string) => `We received another ${money} for this deposit, which was paid already`,
    heldBesidesText: 'The money is held until the operator decides: credit it or give it back.',
    kept: (money: string) => `We received ${money}, and the operator has decided what becomes of it`,
    keptText: 'The payer is no longer asked to pay. If anything is missing, create another deposit.',
  },
})

/** While something is about to happen. It reads what is stored, which the bank's news change by themselves; a hidden page asks for nothing. */
const POLL_MS = 3_000

export function DepositPage() {
  const t = useWords()
  const { paymentLinkId = '' } = useParams({ strict: false })
  const life = useDepositLife(paymentLinkId)
  const back = { to: '/deposits', label: t.back }
  if (life.data) return <Life key={paymentLinkId} life={life.data} onChange={() => void life.refetch()} back={back} />
  if (life.error instanceof ApiError && life.error.status === 404)
    return (
      <Page title={t.title} back={back}>
        <Card>
          <Empty
            icon={<SearchIcon className="size-6" />}
            title={t.missing}
            text={t.missingText}
            action={<ButtonLink to="/deposits">{t.all}</ButtonLink>}
          />
        </Card>
      </Page>
    )
  return (
    <Page title={t.title} back={back} {...(!life.error && { text: <Skeleton className="h-6 w-28" /> })}>
      {life.error ? (
        <Card>
          <Failure error={life.error} onRetry={() => void life.refetch()} />
        </Card>
      ) : (
        <div className={COLUMNS}>
          <Skeleton className="h-96 w-full rounded-2xl lg:order-2" />
          <Skeleton className="h-120 w-full rounded-2xl" />
        </div>
      )}
    </Page>
  )
}

const COLUMNS = 'grid grid-cols-1 items-start gap-6 lg:grid-cols-[minmax(0,1fr)_24rem]'

function useDepositLife(paymentLinkId: string) {
  const queryClient = useQueryClient()
  const life = useQuery({
    queryKey: ['deposit', paymentLinkId],
    queryFn: ({ signal }) => get<DepositLife>(`/deposit/${encodeURIComponent(paymentLinkId)}/timeline`, {}, { signal }),
    staleTime: 0,
    refetchInterval: ({ state: { data } }) => (data && isMoving(data) ? POLL_MS : false),
  })
  // What other pages remember is older than what was just seen here.
  const state =
    life.data &&
    [life.data.deposit.status, life.data.deposit.heldValue, ...life.data.refunds.map((refund) => refund.status)].join(
      ' ',
    )
  const seen = useRef(state)
  useEffect(() => {
    if (seen.current !== undefined && state !== seen.current)
      void queryClient.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[0] !== 'deposit' && queryKey[0] !== 'me',
      })
    seen.current = state
  }, [state, queryClient])
  return life
}

function isMoving({ deposit, refunds }: DepositLife): boolean {
  return (
    deposit.status === 'PENDING' || deposit.heldValue > 0 || refunds.some((refund) => refund.status === 'PROCESSING')
  )
}

function Life({
  life,
  onChange,
  back,
}: {
  life: DepositLife
  onChange: () => void
  back: { to: string; label: string }
}) {
  const t = useWords()
  const language = useLanguage()
  const statusText = useStatusText()
  const { deposit, refunds, timeline } = life
  const [asked, setAsked] = useState<'cancel' | 'refund'>()
  const mayRefund = useService().accountsMayRefund
  const refundable = refundableCents(life)
  const close = () => setAsked(undefined)
  return (
    <Page
      title={moneyText(deposit.value, language)}
      text={<DepositStatus deposit={deposit} />}
      back={back}
      actions={
        <>
          {deposit.status === 'PENDING' && <CheckNow paymentLinkId={deposit.paymentLinkId} onChecked={onChange} />}
          {deposit.status === 'PENDING' && <Button onClick={() => setAsked('cancel')}>{t.cancel}</Button>}
          {mayRefund && refundable > 0 && <Button onClick={() => setAsked('refund')}>{t.refund}</Button>}
        </>
      }
    >
      {/* The page turns by itself, and says so. */}
      <p role="status" className="sr-only">
        {t.now(statusText(deposit.status))}
      </p>
      <HeldNotice deposit={deposit} />
      <div className={COLUMNS}>
        <div className="space-y-6 lg:order-2">
          {asksToPay(deposit) && (
            <Card title={t.pay}>
              <PaymentCode deposit={deposit} />
            </Card>
          )}
          <Amounts deposit={deposit} refunds={refunds} />
          {!mayRefund && refundable > 0 && <p className="px-1 text-sm text-soft">{t.askOperator}</p>}
        </div>
        <div className="min-w-0 space-y-6">
          {refunds.length > 0 && <Refunds refunds={refunds} />}
          <Timeline moments={timeline} />
          <Details deposit={deposit} />
        </div>
      </div>
      <CancelDialog
        paymentLinkId={deposit.paymentLinkId}
        isOpen={asked === 'cancel'}
        onClose={close}
        onChange={onChange}
      />
      {asked === 'refund' && <RefundDialog life={life} onClose={close} onRefunded={onChange} />}
    </Page>
  )
}

function HeldNotice({ deposit }: { deposit: Deposit }) {
  const t = useWords()
  const language = useLanguage()
  const { status, value, heldValue, keptValue } = deposit
  const held = moneyText(heldValue, language)
  if (heldValue > 0 && status === 'COMPLETED')
    return (
      <Notice tone="wait" title={t.heldBesides(held)}>
        {t.heldBesidesText}
      </Notice>
    )
  if (heldValue > 0)
    return (
      <Notice tone="wait" title={t.held(held)}>
        {t.heldText(moneyText(value, language))}
      </Notice>
    )
  if (keptValue === 0 || status === 'COMPLETED') return null
  return (
    <Notice tone="mark" title={t.kept(moneyText(keptValue, language))}>
      {t.keptText}
    </Notice>
  )
}

/** Asks the provider itself, for whoever has a payer at the phone. */
function CheckNow({ paymentLinkId, onChecked }: { paymentLinkId: string; onChecked: () => void }) {
  const t = useWords()
  const check = useMutation({
    mutationFn: () => get<{ charge: { status: string } }>(`/deposit/${paymentLinkId}`),
    onSuccess: ({ charge }) => {
      onChecked()
      if (charge.status === 'PENDING') toast.good(t.checked)
    },
    onError: toast.bad,
  })
  return (
    <Button isBusy={check.isPending} onClick={() => check.mutate()}>
      <RefreshIcon className="size-4" />
      {t.check}
    </Button>
  )
}

function CancelDialog(props: { paymentLinkId: string; isOpen: boolean; onClose: () => void; onChange: () => void }) {
  const t = useWords()
  const refusalText = useRefusalText()
  const cancel = async () => {
    try {
      await post(`/deposit/${props.paymentLinkId}/cancel`)
    } catch (error) {
      throw error instanceof ApiError ? new ApiError(error.status, 'said', refusalText(error)) : error
    } finally {
      // It may have been paid meanwhile.
      props.onChange()
    }
  }
  return (
    <ConfirmDialog
      isOpen={props.isOpen}
      onClose={props.onClose}
      title={t.cancelTitle}
      text={t.cancelText}
      action={t.cancelAction}
      isDanger
      onConfirm={cancel}
    />
  )
}
