import type { QueryKey } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, post } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import type { Pair } from '../../base/pair.ts'
import { refresh, useGet } from '../../base/queries.ts'
import type { ErrorCode } from '../../contract/codes.ts'
import type { Account, Exception, Resolution } from '../../contract/types.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/page.tsx'
import { Checkbox } from '../../ui/form/form.tsx'
import { ReasonDialog } from '../../ui/form/form-dialog.tsx'
import { RadioCard } from '../../ui/form/radio-card.tsx'
import { Notice } from '../../ui/notice.tsx'
import { toast } from '../../ui/toast.tsx'
import { AccountPicker } from '../accounts/account-picker.tsx'
import { useLabels } from '../labels.tsx'

const useTexts = translations({
  title: ['Resolver', 'Resolve'],
  legend: ['O que fazer com o dinheiro', 'What to do with the money'],
  resolutionText: {
    match: [
      'A cobrança fica paga com este valor, menos a tarifa. A página do pagador e os webhooks da loja avisam.',
      'The charge is paid with this amount, net of the fee. The payer’s page and the shop’s webhooks say so.',
    ],
    credit: ['O valor inteiro, sem tarifa.', 'The full amount, without a fee.'],
    refund: [
      'O valor inteiro, pelo provedor por onde chegou.',
      'The full amount, through the provider that received it.',
    ],
    write_off: ['Vira receita da operação.', 'Booked as operator income.'],
    charge_account: [
      'O valor sai da conta que recebeu este pagamento.',
      'The amount is taken from the account that received this payment.',
    ],
  },
  lossText: ['Vira perda da operação.', 'Booked as operator loss.'],
  unpaidText: [
    'Nada é lançado. A cobrança expira; se o Pix aparecer depois, ainda a conclui.',
    'Nothing is booked. The charge expires; a Pix that appears later still completes it.',
  ],
  review: ['Revisar e confirmar', 'Review and confirm'],
  close: ['Encerrar a cobrança', 'Close the charge'],
  closeText: [
    'A cobrança ainda está aberta. Se continuar assim, o pagador pode pagar de novo.',
    'The charge is still open. If it stays open, the payer may pay again.',
  ],
  closed: [
    'A cobrança é encerrada antes. Se ela tiver sido paga nesse meio-tempo, nada é lançado.',
    'The charge is closed first. If it was paid meanwhile, nothing is booked.',
  ],
  kept: ['A cobrança continua aberta e ainda pode ser paga.', 'The charge stays open and can still be paid.'],
  confirm: {
    match: ['Concluir a cobrança?', 'Complete the charge?'],
    credit: ['Creditar esta conta?', 'Credit this account?'],
    refund: ['Devolver ao pagador?', 'Refund the payer?'],
    write_off: ['Dar baixa?', 'Write off?'],
    charge_account: ['Debitar da conta?', 'Debit the account?'],
  },
  books: ['O que será lançado', 'What will be booked'],
  match: (amount: string, fee: string, credited: string, account: string) => [
    `${amount} saem da conta transitória: ${credited} entram no saldo de ${account} e ${fee} ficam como tarifa. A cobrança passa a paga.`,
    `${amount} leaves suspense: ${credited} is credited to ${account} and ${fee} is the fee. The charge becomes paid.`,
  ],
  credit: (amount: string, account: string) => [
    `${amount} saem da conta transitória e entram no saldo de ${account}, sem tarifa.`,
    `${amount} leaves suspense and is credited to ${account}, without a fee.`,
  ],
  refund: (amount: string, provider: string) => [
    `${amount} saem da conta transitória e são devolvidos ao pagador por ${provider}. Se o provedor recusar, o valor volta e a exceção fica pendente.`,
    `${amount} leaves suspense and ${provider} refunds it to the payer. If the provider declines, the money returns and the exception reopens.`,
  ],
  write_off: (amount: string) => [
    `${amount} saem da conta transitória e viram receita da operação.`,
    `${amount} leaves suspense and is booked as operator income.`,
  ],
  loss: (amount: string) => [
    `${amount} devolvidos fora do guiche viram perda da operação.`,
    `${amount} refunded outside guiche is booked as operator loss.`,
  ],
  charge_account: (amount: string) => [
    `${amount} saem do saldo da conta que recebeu este pagamento. O que faltar no saldo fica devido, e os próximos valores pagam.`,
    `${amount} is debited from the account that received this payment. What its balance lacks is owed, and the next money pays it.`,
  ],
  together: [
    'Devoluções deste pagamento já feitas pelo provedor são acertadas junto.',
    'Refunds of this payment that the provider already made are settled with it.',
  ],
  final: ['Não dá para desfazer.', 'This cannot be undone.'],
  suspended: [
    'Esta conta está suspensa, mas pode ser creditada.',
    'This account is suspended, but it can be credited.',
  ],
  refused: {
    exception_resolved: [
      'Nada foi lançado: esta exceção já foi resolvida.',
      'Nothing was booked: this exception is already resolved.',
    ],
    exception_resolving: [
      'Nada foi lançado: já há uma devolução em andamento.',
      'Nothing was booked: a refund is already in progress.',
    ],
    payment_rest_held: [
      'O restante deste pagamento está na conta transitória: resolva aquela exceção, e esta será resolvida junto.',
      'The rest of this payment is in suspense: resolve that exception, and this one is resolved with it.',
    ],
    payment_not_credited: [
      'Nenhuma conta recebeu este pagamento: dê baixa.',
      'No account received this payment: write it off.',
    ],
    payment_returned: [
      'O provedor já devolveu este pagamento inteiro: dê baixa.',
      'The provider already refunded this payment in full: write it off.',
    ],
    payment_refunded: [
      'O provedor já devolveu este pagamento: credite a uma conta ou dê baixa.',
      'The provider already refunded this payment: credit an account or write it off.',
    ],
    payment_below_fee: [
      'O pagamento não cobre a tarifa da cobrança: escolha outra opção.',
      'The payment does not cover the charge’s fee: choose another option.',
    ],
    charge_not_named: [
      'Este pagamento não indica nenhuma cobrança: escolha outra opção.',
      'This payment does not name a charge: choose another option.',
    ],
    charge_completed: [
      'A cobrança já foi paga por outro pagamento: escolha outra opção.',
      'The charge was paid by another payment: choose another option.',
    ],
    order_paid: [
      'Outra cobrança deste pedido já foi paga: credite este valor a uma conta ou devolva-o.',
      'Another charge of this order was paid already: credit this money to an account or refund it.',
    ],
    not_cancelable: [
      'A cobrança não pôde ser encerrada, talvez porque foi paga agora. Nada foi lançado.',
      'The charge could not be closed; it may have just been paid. Nothing was booked.',
    ],
    provider_refused: [
      'O provedor não encerrou a cobrança. Nada foi lançado.',
      'The provider did not close the charge. Nothing was booked.',
    ],
    payment_held: [
      'O provedor não encerrou a cobrança. Nada foi lançado; tente com a cobrança aberta.',
      'The provider did not close the charge. Nothing was booked; try with the charge open.',
    ],
    balance_too_small: [
      'O saldo da conta não basta. Nada foi lançado.',
      'The account’s balance is too low. Nothing was booked.',
    ],
  } satisfies Partial<Record<ErrorCode, Pair>>,
  done: ['Exceção resolvida.', 'Exception resolved.'],
  requested: ['Devolução pedida ao provedor.', 'Refund requested from the provider.'],
})

export function Resolve({ exception }: { exception: Exception }) {
  const t = useTexts()
  const labels = useLabels()
  const writeOffText = { foreign_refund: t.lossText, unnamed_payment: t.unpaidText }[exception.kind as string]
  const [how, setHow] = useState<Resolution>()
  const [isClosing, setClosing] = useState<boolean>()
  const [chosen, setChosen] = useState<Account>()
  const account = useOwnAccount(exception.charge?.accountId, chosen)
  const [isConfirming, setConfirming] = useState(false)
  // After a refund the payer may pay the right amount; after anything else they would pay twice.
  const closes = canClose(exception, how) ? (isClosing ?? how !== 'refund') : undefined
  const isReady = how !== undefined && (how !== 'credit' || account !== undefined)
  return (
    <Card title={t.title}>
      <fieldset className="space-y-2">
        <legend className="mb-2 text-sm text-soft">{t.legend}</legend>
        {inOrder(exception.ways).map((option) => (
          <RadioCard
            key={option}
            name="how"
            isChosen={how === option}
            onChoose={() => setHow(option)}
            title={labels.resolution[option]}
            text={(option === 'write_off' && writeOffText) || t.resolutionText[option]}
          />
        ))}
      </fieldset>
      {how === 'credit' && (
        <div className="mt-5">
          <AccountPicker first={exception.charge?.email ?? ''} chosen={account} onChoose={setChosen} />
        </div>
      )}
      {closes !== undefined && (
        <div className="mt-5">
          <Checkbox label={t.close} hint={t.closeText} value={closes} onChange={setClosing} />
        </div>
      )}
      <Button kind="primary" className="mt-5 w-full" disabled={!isReady} onClick={() => setConfirming(true)}>
        {t.review}
      </Button>
      {isConfirming && how !== undefined && (
        <ResolveDialog
          exception={exception}
          how={how}
          account={account}
          closes={closes}
          onClose={() => setConfirming(false)}
        />
      )}
    </Card>
  )
}

const ORDER: readonly Resolution[] = ['match', 'charge_account', 'credit', 'refund', 'write_off']

export function inOrder(ways: readonly Resolution[]): Resolution[] {
  return ORDER.filter((way) => ways.includes(way))
}

/** Returns the account of the charge until another one is chosen. */
function useOwnAccount(accountId: string | undefined, chosen: Account | undefined): Account | undefined {
  const own = useGet<{ account: Account }>(['account', accountId], `/operator/accounts/${accountId}`, {
    enabled: accountId !== undefined,
  })
  return chosen ?? own.data?.account
}

/** True if the exception is about a refund that the provider made or reversed, and not about a held payment. */
export function isAboutRefund({ kind }: Exception): boolean {
  return kind === 'foreign_refund' || kind === 'undone_refund'
}

/** True if the exception is about money that arrived and is in suspense. */
export function isHeldPayment(exception: Exception): boolean {
  return !isAboutRefund(exception) && exception.kind !== 'unnamed_payment'
}

/** Whether the charge could still be paid after this resolution. */
export function canClose(exception: Exception, how: Resolution | undefined): boolean {
  const movesPayment = how === 'credit' || how === 'refund' || how === 'write_off'
  return movesPayment && isHeldPayment(exception) && exception.charge?.status === 'PENDING'
}

type DialogProps = {
  exception: Exception
  how: Resolution
  account: Account | undefined
  /** Undefined if no charge could still be paid. */
  closes: boolean | undefined
  onClose: () => void
}

function ResolveDialog({ exception, how, account, closes, onClose }: DialogProps) {
  const t = useTexts()
  const labels = useLabels()
  const booking = useBooking(exception, how, account)
  const resolve = useResolve(exception.id)
  const send = (reason: string) =>
    resolve({
      how,
      reason,
      ...(how === 'credit' && account && { accountId: account.id }),
      ...(closes && { charge: 'close' }),
    })
  return (
    <ReasonDialog
      onClose={onClose}
      title={t.confirm[how]}
      action={labels.resolution[how]}
      isDanger={how === 'write_off'}
      onSend={send}
    >
      <Notice tone="mark" title={t.books}>
        <p className="figures">{booking}</p>
        {isHeldPayment(exception) && (how === 'credit' || how === 'write_off') && <p className="mt-2">{t.together}</p>}
        {closes !== undefined && <p className="mt-2">{closes ? t.closed : t.kept}</p>}
        <p className="mt-2 font-semibold">{t.final}</p>
      </Notice>
      {how === 'credit' && account && account.suspendedAt !== null && <Notice tone="wait">{t.suspended}</Notice>}
    </ReasonDialog>
  )
}

/** The words for a refused decision, by its code. */
export function useRefusalTexts(): Readonly<Record<string, string>> {
  return useTexts().refused
}

/** What a decision makes out of date. */
export const DECIDED: readonly QueryKey[] = [['exception'], ['list', '/operator/exceptions'], ['open'], ['account']]

function useResolve(id: string): (body: object) => Promise<void> {
  const t = useTexts()
  const texts = useRefusalTexts()
  return async (body) => {
    try {
      const { exception } = await post<{ exception: Exception }>(`/operator/exceptions/${id}/resolve`, body)
      if (exception.state === 'resolved') toast.good(t.done)
      if (exception.state === 'resolving') toast.good(t.requested)
    } catch (error) {
      const text = error instanceof ApiError ? texts[error.code] : undefined
      if (!(error instanceof ApiError) || text === undefined) throw error
      const refusal = new ApiError(error.status, 'refused', text)
      if (error.code !== 'exception_resolved' && error.code !== 'exception_resolving') throw refusal
      // Another operator was faster: the dialog closes, and the page shows their resolution.
      toast.bad(refusal)
    } finally {
      // Reloads after a refusal or a lost answer too, because the exception may have been resolved.
      void refresh(...DECIDED)
    }
  }
}

function useBooking(exception: Exception, how: Resolution, account: Account | undefined): string {
  const t = useTexts()
  const { money } = useFormat()
  const { kind, value, provider, charge } = exception
  switch (how) {
    case 'match': {
      const { fee = 0, email = '' } = charge ?? {}
      return t.match(money(value), money(fee), money(value - fee), email)
    }
    case 'credit':
      return t.credit(money(value), account ? `${account.name} (${account.email})` : '')
    case 'refund':
      return t.refund(money(value), provider)
    case 'charge_account':
      return t.charge_account(money(value))
    case 'write_off':
      if (kind === 'unnamed_payment') return t.unpaidText
      return kind === 'foreign_refund' ? t.loss(money(value)) : t.write_off(money(value))
  }
}
