import { useNavigate } from '@tanstack/react-router'
import { put } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { moneyInputText, parseMoney } from '../../base/money.ts'
import type { Code } from '../../contract/types.ts'
import { ConfirmDialog } from '../../ui/form/form-dialog.tsx'
import { Input, useCheck, useFields } from '../../ui/form/form.tsx'

const useTexts = translations({
  make: ['Novo código', 'New code'],
  change: ['Alterar código', 'Change code'],
  reopen: ['Abrir de novo', 'Open again'],
  text: [
    'Quem paga escolhe o valor. Se você definir limites, um pagamento fora deles fica em análise.',
    'The payer chooses the amount. If you set limits, a payment outside of them is put under review.',
  ],
  externalId: ['Sua referência', 'Your reference'],
  externalIdHint: [
    'Por exemplo, o número do cliente. Ela não muda depois.',
    'For example, the customer’s number. It cannot be changed later.',
  ],
  description: ['Descrição', 'Description'],
  descriptionHint: ['O pagador vê este texto.', 'Shown to the payer.'],
  min: ['Valor mínimo', 'Minimum amount'],
  max: ['Valor máximo', 'Maximum amount'],
  wrong: ['Informe um valor como 150,00', 'Enter an amount such as 150.00'],
  order: ['O mínimo não pode passar do máximo', 'The minimum must not be above the maximum'],
  save: ['Salvar', 'Save'],
  create: ['Criar código', 'Create code'],
  done: ['Código salvo.', 'Code saved.'],
})

/** Makes a code, changes one, or opens a closed one again. */
export function CodeDialog({ code, onClose }: { code?: Code; onClose: () => void }) {
  const t = useTexts()
  const { language } = useFormat()
  const navigate = useNavigate()
  const amount = (cents: number | null | undefined) => (cents ? moneyInputText(cents, language) : '')
  const { typed, field } = useFields({
    externalId: code?.externalId ?? '',
    description: code?.description ?? '',
    min: amount(code?.minValue),
    max: amount(code?.maxValue),
  })
  const [min, max] = [read(typed.min), read(typed.max)]
  const isInOrder = !min || !max || min <= max
  const { isWrong, onCheck } = useCheck(min !== undefined && max !== undefined && isInOrder)
  const path = `/codes/${encodeURIComponent(typed.externalId.trim())}`
  const placeholder = language === 'pt-BR' ? 'R$ 0,00' : 'R$ 0.00'
  const money = { inputMode: 'decimal', placeholder, isOptional: true, className: 'figures' } as const
  const isClosed = code?.status === 'CLOSED'
  return (
    <ConfirmDialog
      title={code ? (isClosed ? t.reopen : t.change) : t.make}
      text={t.text}
      action={code ? (isClosed ? t.reopen : t.save) : t.create}
      canSend={typed.externalId.trim() !== ''}
      onCheck={onCheck}
      onSend={async () => {
        await put(path, { description: typed.description.trim() || null, minValue: min, maxValue: max })
        if (!code) void navigate({ to: path })
      }}
      done={t.done}
      refreshes={[
        ['list', '/codes'],
        ['code', typed.externalId.trim()],
      ]}
      onClose={onClose}
      hidesOldError
    >
      {!code && <Input {...field('externalId')} label={t.externalId} hint={t.externalIdHint} maxLength={64} />}
      <Input {...field('description')} label={t.description} hint={t.descriptionHint} isOptional maxLength={140} />
      <div className="grid gap-5 sm:grid-cols-2">
        <Input
          {...field('min')}
          {...money}
          label={t.min}
          error={isWrong && (min === undefined ? t.wrong : !isInOrder && t.order)}
        />
        <Input {...field('max')} {...money} label={t.max} error={isWrong && max === undefined && t.wrong} />
      </div>
    </ConfirmDialog>
  )
}

/** Null: no limit. Undefined: no amount. */
function read(typed: string): number | null | undefined {
  return typed.trim() === '' ? null : parseMoney(typed) || undefined
}

const useLimits = translations({
  any: ['Qualquer valor', 'Any amount'],
  from: (min: string) => [`A partir de ${min}`, `From ${min}`],
  upTo: (max: string) => [`Até ${max}`, `Up to ${max}`],
  both: (min: string, max: string) => [`De ${min} a ${max}`, `From ${min} to ${max}`],
})

export function useLimitsText(): (code: Pick<Code, 'minValue' | 'maxValue'>) => string {
  const t = useLimits()
  const { money } = useFormat()
  return ({ minValue, maxValue }) => {
    if (minValue === null) return maxValue === null ? t.any : t.upTo(money(maxValue))
    return maxValue === null ? t.from(money(minValue)) : t.both(money(minValue), money(maxValue))
  }
}
