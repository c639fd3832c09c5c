import { patch } from '../../base/api.ts'
import { translations, useLanguage, type Language } from '../../base/language.ts'
import { moneyInputText, parseMoney } from '../../base/money.ts'
import type { AccountTerms, OwnTerms } from '../../contract/types.ts'
import { Input, Select, useFields } from '../../ui/form/form.tsx'
import { ReasonDialog } from '../../ui/form/form-dialog.tsx'
import { Notice } from '../../ui/notice.tsx'
import { TERMS, useTermLabels, useTermText, type Term } from './term-labels.ts'

const useTexts = translations({
  title: ['Alterar tarifa e limites', 'Change fee and limits'],
  text: [
    'Campo em branco: vale o padrão. A mudança vale para novas cobranças e novas devoluções do banco.',
    'Leave a field blank to use the default. Changes apply to new charges and new reversals.',
  ],
  default: ['Padrão', 'Default'],
  defaultIs: (value: string) => [`Padrão: ${value}`, `Default: ${value}`],
  percent: ['Em %, como 0,99', 'In %, such as 0.99'],
  badPercent: ['Informe de 0 a 100 %, com até duas casas decimais.', 'Enter 0 to 100 % with up to two decimals.'],
  badMoney: ['Informe um valor em reais, como 1,50.', 'Enter an amount in reais, such as 1.50.'],
  badLeast: ['Pelo menos R$ 0,01.', 'At least R$ 0.01.'],
  changes: ['Mudanças', 'Changes'],
  noChange: ['Nenhuma mudança ainda.', 'No changes yet.'],
  save: ['Salvar', 'Save'],
  saved: ['Tarifa e limites alterados.', 'Fee and limits changed.'],
})

type Typed = Record<Term, string>

type Props = { accountId: string; terms: AccountTerms; onClose: () => void }

export function TermsDialog({ accountId, terms, onClose }: Props) {
  const t = useTexts()
  const language = useLanguage()
  const labels = useTermLabels()
  const textOf = useTermText()
  const { typed, field } = useFields(() => typedFrom(terms.own, language))
  // fromEntries widens the keys to string.
  const read = Object.fromEntries(TERMS.map((term) => [term, parse(term, typed[term])])) as Record<
    Term,
    OwnTerms[Term] | undefined
  >
  const changed = TERMS.filter((term) => read[term] !== undefined && read[term] !== terms.own[term])
  const hasBad = TERMS.some((term) => read[term] === undefined)
  const ownText = (term: Term, value: OwnTerms[Term]) => (value === null ? t.default : textOf(term, value))
  return (
    <ReasonDialog
      onClose={onClose}
      title={t.title}
      text={t.text}
      action={t.save}
      isWide
      canSend={changed.length > 0 && !hasBad}
      onSend={(reason) => {
        const body = Object.fromEntries(changed.map((term) => [term, read[term]]))
        return patch(`/operator/accounts/${accountId}/terms`, { ...body, reason })
      }}
      done={t.saved}
      refreshes={[['account', accountId]]}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        {TERMS.map((term) => (
          <TermField key={term} {...field(term)} term={term} terms={terms} isBad={read[term] === undefined} />
        ))}
      </div>
      <Notice title={t.changes}>
        {changed.length === 0
          ? t.noChange
          : changed.map((term) => (
              <p key={term} className="figures">
                {labels[term]}: {ownText(term, terms.own[term])} → <b>{ownText(term, read[term] ?? null)}</b>
              </p>
            ))}
      </Notice>
    </ReasonDialog>
  )
}

type Choice = Extract<OwnTerms[Term], string>
const CHOICES: Partial<Record<Term, readonly Choice[]>> = {
  feeBearer: ['account', 'payer'],
  reversalPolicy: ['charge', 'operator'],
}

function TermField(props: {
  term: Term
  terms: AccountTerms
  value: string
  isBad: boolean
  onChange: (value: string) => void
}) {
  const t = useTexts()
  const { term, terms, value, isBad, onChange } = props
  const label = useTermLabels()[term]
  const textOf = useTermText()
  // The default is known only for terms that the account has not overridden.
  const defaultText = terms.own[term] === null ? t.defaultIs(textOf(term, terms.effective[term])) : t.default
  const choices = CHOICES[term]
  if (choices)
    return (
      <Select
        label={label}
        value={value}
        onChange={onChange}
        choices={[
          { value: '', label: defaultText },
          ...choices.map((choice) => ({ value: choice, label: textOf(term, choice) })),
        ]}
      />
    )
  const bad = term === 'feeBps' ? t.badPercent : term.startsWith('value') ? `${t.badMoney} ${t.badLeast}` : t.badMoney
  return (
    <Input
      label={label}
      {...(term === 'feeBps' && { hint: t.percent })}
      {...(isBad && { error: bad })}
      inputMode="decimal"
      placeholder={defaultText}
      value={value}
      onChange={onChange}
    />
  )
}

function typedFrom(own: OwnTerms, language: Language): Typed {
  const text = (value: OwnTerms[Term]) => (typeof value === 'number' ? moneyInputText(value, language) : (value ?? ''))
  // fromEntries widens the keys to string.
  return Object.fromEntries(TERMS.map((term) => [term, text(own[term])])) as Typed
}

const MAX_BPS = 10_000

/**
 * Null is the default, and undefined is invalid. A percentage with two decimals is basis points, as reais are cents.
 */
function parse(term: Term, typed: string): OwnTerms[Term] | undefined {
  const text = typed.replace('%', '').trim()
  if (text === '') return null
  if (CHOICES[term]) return text as Choice
  const number = parseMoney(text)
  if (number === undefined || (term === 'feeBps' && number > MAX_BPS)) return undefined
  return term.startsWith('value') && number < 1 ? undefined : number
}
