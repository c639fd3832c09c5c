import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, post } from '../../base/api.ts'
import { useLanguage, words } from '../../base/language.ts'
import { moneyText } from '../../base/money.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
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
      credit: 'O valor inteiro, sem tarifa.',
      refund: 'O valor inteiro, pela instituição por onde chegou.',
      write_off: 'O dinheiro fica com a casa.',
      charge_account: 'Arca com ela a conta que tinha recebido este pagamento.',
    },
    lossText: 'A casa arca com a perda.',
    review: 'Conferir e confirmar',
    confirm: {
      credit: 'Creditar esta conta?',
      refund: 'Devolver ao pagador?',
      write_off: 'Dar baixa?',
      charge_account: 'Debitar da conta?',
    },
    books: 'O que será lançado',
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
      resolved: 'Nada foi lançado agora: esta exceção já foi resolvida.',
      resolving: 'Nada foi lançado agora: já há uma devolução em andamento.',
      held: 'O resto deste pagamento está na conta transitória: resolva aquela exceção, e esta será resolvida junto.',
      uncredited: 'Nenhuma conta recebeu este pagamento: dê baixa.',
      gone: 'A instituição já devolveu este pagamento inteiro: dê baixa.',
      refunded: 'A instituição já devolveu este pagamento: credite a uma conta ou dê baixa.',
      poor: 'O saldo da conta não basta. Nada foi lançado.',
    },
    done: 'Decisão lançada.',
    asked: 'Devolução pedida à instituição.',
  },
  en: {
    title: 'Decide',
    legend: 'What becomes of the money',
    wayText: {
      credit: 'The whole amount, without a fee.',
      refund: 'The whole amount, by the provider that received it.',
      write_off: 'The house keeps the money.',
      charge_account: 'The account that was credited with this payment bears it.',
    },
    lossText: 'The house bears the loss.',
    review: 'Check and confirm',
    confirm: {
      credit: 'Credit this account?',
      refund: 'Refund the payer?',
      write_off: 'Write it off?',
      charge_account: 'Charge the account?',
    },
    books: 'What will be booked',
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
      resolved: 'Nothing was booked now: this exception is resolved already.',
      resolving: 'Nothing was booked now: a refund is under way already.',
      held: 'The rest of this payment is in suspense: resolve that exception, and this one is resolved with it.',
      uncredited: 'No account was credited with this payment: write it off.',
      gone: 'The provider gave all of this payment back already: write it off.',
      refunded: 'The provider refunded this payment already: credit an account or write it off.',
      poor: 'The balance of the account is too small. Nothing was booked.',
    },
    done: 'The decision is booked.',
    asked: 'The provider was asked for the refund.',
  },
})

const WAYS: Partial<Record<Exception['kind'], Way[]>> = {
  foreign_refund: ['charge_account', 'write_off'],
  undone_refund: ['credit', 'write_off'],
}

export function Resolve({ exception }: { exception: Exception }) {
  const t = useWords()
  const names = useNames()
  const isForeign = exception.kind === 'foreign_refund'
  const ways = WAYS[exception.kind] ?? ['credit', 'refund', 'write_off']
  const [how, setHow] = useState<Way>()
  const [account, setAccount] = useState<Account>()
  const [isAsking, setAsking] = useState(false)
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
      <Button kind="primary" className="mt-5 w-full" disabled={!isReady} onClick={() => setAsking(true)}>
        {t.review}
      </Button>
      {isAsking && how !== undefined && (
        <Confirm exception={exception} how={how} account={account} onClose={() => setAsking(false)} />
      )}
    </Card>
  )
}

function Confirm({
  exception,
  how,
  account,
  onClose,
}: {
  exception: Exception
  how: Way
  account: Account | undefined
  onClose: () => void
}) {
  const t = useWords()
  const queryClient = useQueryClient()
  const sentence = useBooking(exception, how, account)
  const send = async (reason: string) => {
    const path = `/operator/exceptions/${exception.id}`
    const body = { how, reason, ...(how === 'credit' && { accountId: account!.id }) }
    try {
      const { exception: after } = await post<{ exception: Exception }>(`${path}/resolve`, body)
      if (after.state === 'resolved') toast.good(t.done)
      if (after.state === 'resolving') toast.good(t.asked)
    } catch (error) {
      const refusal = refusalOf(error)
      if (refusal === undefined) throw error
      const said = new ApiError(409, 'refused', t.refused[refusal])
      if (refusal !== 'resolved' && refusal !== 'resolving') throw said
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
        {how !== 'refund' && WAYS[exception.kind] === undefined && <p className="mt-2">{t.together}</p>}
        <p className="mt-2 font-semibold">{t.final}</p>
      </Notice>
      {how === 'credit' && account && account.suspendedAt !== null && <Notice tone="wait">{t.suspended}</Notice>}
    </ReasonDialog>
  )
}

/** The server's refusals of a decision, by words that stand in them: it has one code for all of them. */
const REFUSALS = {
  resolved: 'is resolved already',
  resolving: 'its refund is under way',
  held: 'is in suspense: resolve that',
  uncredited: 'No account was credited',
  gone: 'gave all of this payment back',
  refunded: 'was refunded at the provider',
  poor: 'Balance is too small',
}

function refusalOf(error: unknown): keyof typeof REFUSALS | undefined {
  if (!(error instanceof ApiError) || error.status !== 409) return undefined
  const names = Object.keys(REFUSALS) as (keyof typeof REFUSALS)[]
  return names.find((name) => error.message.includes(REFUSALS[name]))
}

/** In words what the ledger will say. */
function useBooking({ kind, value, provider }: Exception, how: Way, account: Account | undefined): string {
  const t = useWords()
  const amount = moneyText(value, useLanguage())
  if (how === 'credit') return t.credit(amount, `${account!.name} (${account!.email})`)
  if (how === 'refund') return t.refund(amount, provider)
  if (how === 'charge_account') return t.charge_account(amount)
  return kind === 'foreign_refund' ? t.loss(amount) : t.write_off(amount)
}
