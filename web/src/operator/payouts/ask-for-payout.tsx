import { useState } from 'react'
import { ApiError, newIdempotencyKey, post } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { parseMoney } from '../../base/money.ts'
import type { Account } from '../../contract/types.ts'
import { DialogButton } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/form/form-dialog.tsx'
import { Input, useCheck, useFields } from '../../ui/form/form.tsx'
import { AccountPicker } from '../accounts/account-picker.tsx'

const useTexts = translations({
  open: ['Registrar repasse', 'Ask for a payout'],
  title: ['Registrar um repasse', 'Ask for a payout'],
  text: [
    'Em nome do titular da conta. O valor fica reservado até você registrar o pagamento ou recusar.',
    'In the account holder’s name. The amount is set aside until you record the payment or reject it.',
  ],
  account: (name: string, email: string) => [`Conta: ${name} (${email})`, `Account: ${name} (${email})`],
  value: ['Valor', 'Amount'],
  wrong: ['Informe um valor.', 'Enter an amount.'],
  note: ['Observação', 'Note'],
  noteHint: ['O titular da conta também vê.', 'The account holder sees it too.'],
  ask: ['Reservar o valor', 'Set the amount aside'],
  askFor: (money: string) => [`Reservar ${money}`, `Set ${money} aside`],
  done: ['Repasse registrado. O valor está reservado.', 'Payout requested. The amount is set aside.'],
  tooSmall: (money: string) => [
    `Só ${money} estão disponíveis nesta conta.`,
    `Only ${money} is available in this account.`,
  ],
})

/** Without an account, the operator chooses one. */
export function AskForPayout({ account }: { account?: Account }) {
  const t = useTexts()
  return (
    <DialogButton dialog={(onClose) => <AskForDialog {...(account && { account })} onClose={onClose} />}>
      {t.open}
    </DialogButton>
  )
}

function AskForDialog({ account: given, onClose }: { account?: Account; onClose: () => void }) {
  const t = useTexts()
  const { language, money } = useFormat()
  const [account, setAccount] = useState(given)
  const [idempotencyKey, setKey] = useState(newIdempotencyKey)
  const { typed, field } = useFields({ value: '', note: '' }, () => setKey(newIdempotencyKey()))
  const cents = parseMoney(typed.value) ?? 0
  const { isWrong, onCheck } = useCheck(cents > 0)
  const choose = (chosen: Account) => {
    setAccount(chosen)
    setKey(newIdempotencyKey())
  }
  const send = async () => {
    const body = { accountId: account?.id, value: cents, note: typed.note.trim() || null }
    await post('/operator/payouts', body, { idempotencyKey })
  }
  return (
    <ConfirmDialog
      title={t.title}
      text={t.text}
      action={cents > 0 ? t.askFor(money(cents)) : t.ask}
      canSend={account !== undefined}
      onCheck={onCheck}
      onSend={send}
      done={t.done}
      refreshes={[['list', '/operator/payouts'], ['open'], ['account']]}
      errorText={(error) =>
        error instanceof ApiError && error.code === 'balance_too_small'
          ? t.tooSmall(money(Number(error.details['balanceCents'])))
          : undefined
      }
      onClose={onClose}
      hidesOldError
    >
      {given ? (
        <p className="wrap-anywhere">{t.account(given.name, given.email)}</p>
      ) : (
        <AccountPicker first="" chosen={account} onChoose={choose} />
      )}
      <Input
        {...field('value')}
        label={t.value}
        inputMode="decimal"
        placeholder={language === 'pt-BR' ? 'R$ 0,00' : 'R$ 0.00'}
        className="figures text-xl font-semibold"
        error={isWrong && t.wrong}
      />
      <Input {...field('note')} label={t.note} hint={t.noteHint} isOptional maxLength={140} />
    </ConfirmDialog>
  )
}
