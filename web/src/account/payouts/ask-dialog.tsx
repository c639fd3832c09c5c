import { useState } from 'react'
import { ApiError, newIdempotencyKey, post } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { moneyInputText, parseMoney } from '../../base/money.ts'
import { Button } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/form/form-dialog.tsx'
import { Input, useCheck, useFields } from '../../ui/form/form.tsx'

const useTexts = translations({
  title: ['Pedir repasse', 'Ask for a payout'],
  text: [
    'O valor fica reservado até a equipe do guiche pagar. Se ela recusar, ele volta a ficar disponível.',
    'The amount is set aside until the guiche team pays it. If they reject it, it is available again.',
  ],
  value: ['Valor', 'Amount'],
  available: (money: string) => [`Disponível: ${money}`, `Available: ${money}`],
  understood: (money: string, left: string) => [
    `Você pede ${money}, e ${left} continuam disponíveis.`,
    `You ask for ${money}, and ${left} stays available.`,
  ],
  wrong: (money: string) => [`Informe um valor de até ${money}`, `Enter an amount up to ${money}`],
  all: ['Pedir tudo', 'Ask for all of it'],
  note: ['Observação', 'Note'],
  noteHint: ['A equipe do guiche também vê.', 'The guiche team sees it too.'],
  ask: ['Pedir repasse', 'Ask for payout'],
  askFor: (money: string) => [`Pedir ${money}`, `Ask for ${money}`],
  done: ['Repasse pedido. O valor está reservado.', 'Payout requested. The amount is set aside.'],
  tooSmall: (money: string) => [`Só ${money} estão disponíveis agora.`, `Only ${money} is available now.`],
})

export type Balance = { balance: number; available: number; reserved: number }

export function AskDialog({ available, onClose }: { available: number; onClose: () => void }) {
  const t = useTexts()
  const { language, money } = useFormat()
  const [idempotencyKey, setKey] = useState(newIdempotencyKey)
  const { typed, field, set } = useFields({ value: '', note: '' }, () => setKey(newIdempotencyKey()))
  const cents = parseMoney(typed.value) ?? 0
  const isPossible = cents > 0 && cents <= available
  const { isWrong, onCheck } = useCheck(isPossible)
  const note = typed.note.trim()
  return (
    <ConfirmDialog
      title={t.title}
      text={t.text}
      action={isPossible ? t.askFor(money(cents)) : t.ask}
      onCheck={onCheck}
      onSend={() => post('/payouts', { value: cents, note: note || null }, { idempotencyKey })}
      done={t.done}
      refreshes={[['list', '/payouts'], ['list', '/statement'], ['balance'], ['overview']]}
      errorText={(error) =>
        error instanceof ApiError && error.code === 'balance_too_small'
          ? t.tooSmall(money(Number(error.details['balanceCents'])))
          : undefined
      }
      onClose={onClose}
      hidesOldError
    >
      <div className="space-y-2">
        <Input
          {...field('value')}
          label={t.value}
          inputMode="decimal"
          placeholder={language === 'pt-BR' ? 'R$ 0,00' : 'R$ 0.00'}
          className="figures text-xl font-semibold"
          hint={isPossible ? t.understood(money(cents), money(available - cents)) : t.available(money(available))}
          error={isWrong && t.wrong(money(available))}
        />
        {cents !== available && available > 0 && (
          <Button size="small" onClick={() => set({ value: moneyInputText(available, language) })}>
            {t.all}
          </Button>
        )}
      </div>
      <Input {...field('note')} label={t.note} hint={t.noteHint} isOptional maxLength={140} />
    </ConfirmDialog>
  )
}
