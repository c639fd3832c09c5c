import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, post } from '../../base/api.ts'
import type { ErrorCode } from '../../base/codes.ts'
import { useLanguage, words } from '../../base/language.ts'
import { moneyText } from '../../base/money.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { AccountPicker } from './account-picker.tsx'
import { Choice } from './choice.tsx'
import { useNames } from './names.tsx'
import { ReasonDialog } from './reason-dialog.tsx'
import type { Account, Exception, Way } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Decidir',
    legend: 'O que fazer com o dinheiro',
    wayText: {
      match: 'O depósito fica pago com este valor, menos a tarifa. O pagador e a loja são avisados.',
      credit: 'O valor inteiro, sem tarifa.',
      refund: 'O valor inteiro, pela instituição por onde chegou.',
      write_off: 'O dinheiro fica com a casa.',
      charge_account: 'Arca com ela a conta que tinha recebido este pagamento.',
    },
    lossText: 'A casa arca com a perda.',
    review: 'Conferir e confirmar',
    close: 'Encerrar a cobrança',
    closeText: 'Ela ainda está aberta. Encerrada, ninguém mais a paga; aberta, o pagador pode ser cobrado de novo.',
    closed:
      'A cobrança é encerrada antes, e ninguém mais a paga. Se ela tiver sido paga nesse meio-tempo, nada é lançado.',
    kept: 'A cobrança continua aberta e ainda pode ser paga.',
    confirm: {
      match: 'Concluir o depósito?',
      credit: 'Creditar esta conta?',
      refund: 'Devolver ao pagador?',
      write_off: 'Dar baixa?',
      charge_account: 'Debitar da conta?',
    },
    books: 'O que será lançado',
    match: (amount: string, fee: string, credited: string, account: string) =>
      `${amount} saem da conta transitória: ${credited} entram no saldo de ${account} e ${fee} ficam como tarifa. O depósito passa a pago.`,
    credit: (amount: string, account: string) =>
      `${amount} saem da conta transitória e entram no saldo de ${account}, sem tarifa.`,
    refund: (amount: string, provider: string) =>
      `${amount} saem da conta transitória e ficam reservados; ${provider} recebe o pedido de devolvê-los ao pagador. Se ela recusar, o valor volta para a conta transitória e a exceção fica aberta.`,
    write_off: (amount: string) => `${amount} saem da conta transitória para baixas, e ficam com a casa.`,
    loss: (amount: string) => `${amount} saem de saídas a atribuir para baixas: a casa arca com a perda.`,
    charge_account: (amount: string) =>
      `${amount} saem do saldo da conta que tinha recebido este pagamento e cobrem a saída. Se o saldo não bastar, nada é lançado.`,
    together: 'O que a instituição já devolveu deste pagamento por conta própria é acertado junto.',
    final: 'Depois de lançado, não se desfaz.',
    suspended: 'Esta conta está suspensa. O crédito é possível mesmo assim.',
    refused: {
      exception_resolved: 'Nada foi lançado agora: esta exceção já foi resolvida.',
      exception_resolving: 'Nada foi lançado agora: já há uma devolução em andamento.',
      payment_rest_held:
        'O resto deste pagamento está na conta transitória: resolva aquela exceção, e esta será resolvida junto.',
      payment_not_credited: 'Nenhuma conta recebeu este pagamento: dê baixa.',
      payment_returned: 'A instituição já devolveu este pagamento inteiro: dê baixa.',
      payment_refunded: 'A instituição já devolveu este pagamento: credite a uma conta ou dê baixa.',
      payment_below_fee: 'O pagamento não cobre a tarifa do depósito: decida de outra forma.',
      charge_not_named: 'Este pagamento não indica nenhuma cobrança nossa: decida de outra forma.',
      charge_completed: 'A cobrança já foi paga por outro pagamento: decida de outra forma.',
      not_cancelable: 'A cobrança não pôde ser encerrada, talvez porque foi paga agora. Nada foi lançado.',
      provider_refused: 'A instituição não encerrou a cobrança. Nada foi lançado.',
      payment_held: 'A instituição não encerrou a cobrança. Nada foi lançado; decida com a cobrança aberta.',
      balance_too_small: 'O saldo da conta não basta. Nada foi lançado.',
    } satisfies Partial<Record<ErrorCode, string>>,
    done: 'Decisão lançada.',
    asked: 'Devolução pedida à instituição.',
  },
  en: {
    title: 'Decide',
    legend: 'What becomes of the money',
    wayText: {
      match: 'The deposit counts as paid with this amount, less the fee. Payer and shop are told.',
      credit: 'The whole amount, without a fee.',
      refund: 'The whole amount, by the provider that received it.',
      write_off: 'The house keeps the money.',
      charge_account: 'The account that was credited with this payment bears it.',
    },
    lossText: 'The house bears the loss.',
    review: 'Check and confirm',
    close: 'Close the charge',
    closeText: 'It is still open. Closed, nobody can pay it any more; left open, the payer may be asked to pay again.',
    closed: 'The charge is closed first, and nobody can pay it any more. If it was paid meanwhile, nothing is booked.',
    kept: 'The charge stays open and can still be paid.',
    confirm: {
      match: 'Complete the deposit?',
      credit: 'Credit this account?',
      refund: 'Refund the payer?',
      write_off: 'Write it off?',
      charge_account: 'Charge the account?',
    },
    books: 'What will be booked',
    match: (amount: string, fee: string, credited: string, account: string) =>
      `${amount} leaves suspense: ${credited} goes to the balance of ${account}, and ${fee} is the fee. The deposit becomes paid.`,
    credit: (amount: string, account: string) =>
      `${amount} leaves suspense and goes to the balance of ${account}, without a fee.`,
    refund: (amount: string, provider: string) =>
      `${amount} leaves suspense and is reserved; ${provider} is asked to give it back to the payer. If it refuses, the money returns to suspense and the exception is open again.`,
    write_off: (amount: string) => `${amount} leaves suspense and is written off: the house keeps it.`,
    loss: (amount: string) => `${amount} leaves “missing” and is written off: the house bears the loss.`,
    charge_account: (amount: string) =>
      `${amount} leaves the balance of the account that was credited with this payment, and covers what went. If the balance is too small, nothing is booked.`,
    together: 'What the provider gave back of this payment by itself is settled along with it.',
    final: 'Once booked, it cannot be undone.',
    suspended: 'This account is suspended. It can be credited all the same.',
    refused: {
      exception_resolved: 'Nothing was booked now: this exception is resolved already.',
      exception_resolving: 'Nothing was booked now: a refund is under way already.',
      payment_rest_held:
        'The rest of this payment is in suspense: resolve that exception, and this one is resolved with it.',
      payment_not_credited: 'No account was credited with this payment: write it off.',
      payment_returned: 'The provider gave all of this payment back already: write it off.',
      payment_refunded: 'The provider refunded this payment already: credit an account or write it off.',
      payment_below_fee: 'The payment does not cover the fee of the deposit: decide in another way.',
      charge_not_named: 'This payment names no charge of ours: decide in another way.',
      charge_completed: 'The charge was paid by another payment: decide in another way.',
      not_cancelable: 'The charge could not be closed, perhaps because it was paid just now. Nothing was booked.',
      provider_refused: 'The provider did not close the charge. Nothing was booked.',
      payment_held: 'The provider did not close the charge. Nothing was booked; decide with the charge left open.',
      balance_too_small: 'The balance of the account is too small. Nothing was booked.',
    },
    done: 'The decision is booked.',
    asked: 'The provider was asked for the refund.',
  },
})

export function Resolve({ exception }: { exception: Exception }) {
  const t = useWords()
  const names = useNames()
  const isForeign = exception.kind === 'foreign_refund'
  const ways = waysOf(exception)
  const [how, setHow] = useState<Way>()
  const [isClosing, setClosing] = useState<boolean>()
  const [account, setAccount] = useState<Account>()
  const [isAsking, setAsking] = useState(false)
  // After a refund the payer may pay the right amount; after anything else they would pay twice.
  const closes = canClose(exception, how) ? (isClosing ?? how !== 'refund') : undefined
  const isReady = how !== undefined && (how !== 'credit' || account !== undefined)
  return (
    <Card title={t.title}>
      <fieldset className="space-y-2">
        <legend className="mb-2 text-sm text-soft">{t.legend}</legend>
        {ways.map((way) => (
          <Choice
            key={way}
            name="how"
            isChosen={how === way}
            onChoose={() => setHow(way)}
            title={names.way[way]}
            text={isForeign && way === 'write_off' ? t.lossText : t.wayText[way]}
          />
        ))}
      </fieldset>
      {how === 'credit' && (
        <div className="mt-5">
          <AccountPicker first={exception.charge?.email ?? ''} chosen={account} onChoose={setAccount} />
        </div>
      )}
      {closes !== undefined && (
        <div className="mt-5">
          <Checkbox
            label={t.close}
            hint={t.closeText}
            checked={closes}
            onChange={(event) => setClosing(event.target.checked)}
          />
        </div>
      )}
      <Button kind="primary" className="mt-5 w-full" disabled={!isReady} onClick={() => setAsking(true)}>
        {t.review}
      </Button>
      {isAsking && how !== undefined && (
        <Confirm exception={exception} how={how} account={account} closes={closes} onClose={() => setAsking(false)} />
      )}
    </Card>
  )
}

function waysOf({ kind, value, charge }: Exception): Way[] {
  if (kind === 'foreign_refund') return ['charge_account', 'write_off']
  if (kind === 'undone_refund') return ['credit', 'write_off']
  const canMatch =
    (kind === 'wrong_amount' || kind === 'unknown_charge') &&
    charge !== null &&
    charge.status !== 'COMPLETED' &&
    value > charge.fee
  return [...(canMatch ? (['match'] as const) : []), 'credit', 'refund', 'write_off']
}

/** Of a refund that the provider made or took back, and of no payment that is held. */
function isAboutRefund(kind: Exception['kind']): boolean {
  return kind === 'foreign_refund' || kind === 'undone_refund'
}

/** Whether there is a charge that somebody could still pay after this decision. */
function canClose({ kind, charge }: Exception, how: Way | undefined): boolean {
  const isAboutMoney = how === 'credit' || how === 'refund' || how === 'write_off'
  return isAboutMoney && !isAboutRefund(kind) && charge?.status === 'PENDING'
}

function Confirm({
  exception,
  how,
  account,
  closes,
  onClose,
}: {
  exception: Exception
  how: Way
  account: Account | undefined
  /** The charge that can still be paid, if there is one. */
  closes: boolean | undefined
  onClose: () => void
}) {
  const t = useWords()
  const queryClient = useQueryClient()
  const sentence = useBooking(exception, how, account)
  const send = async (reason: string) => {
    const path = `/operator/exceptions/${exception.id}`
    const body = {
      how,
      reason,
      ...(how === 'credit' && { accountId: account!.id }),
      ...(closes && { charge: 'close' }),
    }
    try {
      const { exception: after } = await post<{ exception: Exception }>(`${path}/resolve`, body)
      if (after.state === 'resolved') toast.good(t.done)
      if (after.state === 'resolving') toast.good(t.asked)
    } catch (error) {
      const texts: Readonly<Record<string, string>> = t.refused
      if (!(error instanceof ApiError) || !Object.hasOwn(texts, error.code)) throw error
      const said = new ApiError(error.status, 'refused', texts[error.code]!)
      if (error.code !== 'exception_resolved' && error.code !== 'exception_resolving') throw said
      // The page will show what somebody else decided, and this dialog goes with the question.
      toast.bad(said)
    } finally {
      // Also after a refusal or a lost answer: somebody else may have decided, or we have without hearing of it.
      void queryClient.invalidateQueries({ queryKey: ['exception', exception.id] })
      void queryClient.invalidateQueries({ queryKey: ['list', '/operator/exceptions'] })
      void queryClient.invalidateQueries({ queryKey: ['operator-overview'] })
      void queryClient.invalidateQueries({ queryKey: ['account'] })
    }
  }
  return (
    <ReasonDialog
      onClose={onClose}
      title={t.confirm[how]}
      action={useNames().way[how]}
      isDanger={how === 'write_off'}
      onConfirm={send}
    >
      <Notice tone="mark" title={t.books}>
        <p className="figures">{sentence}</p>
        {!isAboutRefund(exception.kind) && (how === 'credit' || how === 'write_off') && (
          <p className="mt-2">{t.together}</p>
        )}
        {closes !== undefined && <p className="mt-2">{closes ? t.closed : t.kept}</p>}
        <p className="mt-2 font-semibold">{t.final}</p>
      </Notice>
      {how === 'credit' && account && account.suspendedAt !== null && <Notice tone="wait">{t.suspended}</Notice>}
    </ReasonDialog>
  )
}

/** In words what the ledger will say. */
function useBooking({ kind, value, provider, charge }: Exception, how: Way, account: Account | undefined): string {
  const t = useWords()
  const language = useLanguage()
  const amount = moneyText(value, language)
  if (how === 'match') {
    const { fee, email } = charge!
    return t.match(amount, moneyText(fee, language), moneyText(value - fee, language), email)
  }
  if (how === 'credit') return t.credit(amount, `${account!.name} (${account!.email})`)
  if (how === 'refund') return t.refund(amount, provider)
  if (how === 'charge_account') return t.charge_account(amount)
  return kind === 'foreign_refund' ? t.loss(amount) : t.write_off(amount)
}
