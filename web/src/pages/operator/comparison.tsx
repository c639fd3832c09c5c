import { useLanguage, words } from '../../base/language.ts'
import { countText } from '../../base/money.ts'
import { Figure } from '../../ui/card.tsx'
import { Copyable } from '../../ui/copy-button.tsx'
import { Money } from '../../ui/money.tsx'
import { Notice } from '../../ui/notice.tsx'
import type { Compared } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    atProvider: 'Na instituição',
    inLedger: 'No razão',
    gap: 'Diferença de valor',
    pix: (count: string) => `${count} Pix`,
    agree: 'Instituição e razão conferem, Pix por Pix.',
    differences: (count: string) => (count === '1' ? '1 diferença' : `${count} diferenças`),
    cut: 'Estas são as primeiras 100.',
    kind: {
      not_in_books: 'A instituição recebeu, e não pôde ser lançado no razão',
      not_at_provider: 'Está no razão, e a instituição não conhece',
      other_provider: 'Está no razão como recebido por outra instituição',
      other_amount: 'Valor diferente',
      other_txid: 'txid diferente',
      other_time: 'Horário em outro dia',
      foreign_refund: 'Devolvido pela instituição sem pedido nosso',
      refund_not_in_books: 'Devolvido pela instituição, e não consta no razão',
      refund_not_at_provider: 'Devolução no razão, e a instituição não conhece',
      refund_other_amount: 'Devolução de valor diferente',
      unread: 'Não pôde ser lido',
    },
  },
  en: {
    atProvider: 'At the provider',
    inLedger: 'In the ledger',
    gap: 'Difference in amount',
    pix: (count: string) => `${count} Pix`,
    agree: 'Provider and ledger agree, Pix by Pix.',
    differences: (count: string) => (count === '1' ? '1 difference' : `${count} differences`),
    cut: 'These are the first 100.',
    kind: {
      not_in_books: 'The provider received it, and it could not be booked',
      not_at_provider: 'In the ledger, and unknown to the provider',
      other_provider: 'In the ledger as received by another provider',
      other_amount: 'Another amount',
      other_txid: 'Another txid',
      other_time: 'A time on another day',
      foreign_refund: 'Refunded by the provider without our asking',
      refund_not_in_books: 'Refunded by the provider, and not in the ledger',
      refund_not_at_provider: 'A refund in the ledger, and unknown to the provider',
      refund_other_amount: 'A refund of another amount',
      unread: 'Could not be read',
    },
  },
})

/** Both sides of a day at one provider, and each difference by its name. */
export function Comparison({ compared }: { compared: Compared }) {
  const t = useWords()
  const language = useLanguage()
  const count = (number: number) => countText(number, language)
  const gap = compared.providerTotal - compared.ledgerTotal
  return (
    <div className="space-y-5">
      <div className="grid grid-cols-[repeat(auto-fit,minmax(13rem,1fr))] gap-x-4 gap-y-5">
        <Figure
          label={t.atProvider}
          value={<Money cents={compared.providerTotal} />}
          note={t.pix(count(compared.providerCount))}
        />
        <Figure
          label={t.inLedger}
          value={<Money cents={compared.ledgerTotal} />}
          note={t.pix(count(compared.ledgerCount))}
        />
        <Figure label={t.gap} value={<Money cents={gap} sign className={gap === 0 ? '' : 'text-bad'} />} />
      </div>
      {compared.differenceCount === 0 ? (
        <Notice tone="good">{t.agree}</Notice>
      ) : (
        <div>
          <h3 className="figures mb-1 font-semibold text-bad">{t.differences(count(compared.differenceCount))}</h3>
          <ul className="divide-y divide-line">
            {compared.differences.map((one, index) => (
              <li key={index} className="py-3">
                <p className="font-medium">{nameOf(t.kind, one.kind)}</p>
                <Copyable text={one.endToEndId} />
                <p className="text-sm text-soft wrap-anywhere">{one.text}</p>
              </li>
            ))}
          </ul>
          {compared.differenceCount > compared.differences.length && <p className="mt-2 text-sm text-soft">{t.cut}</p>}
        </div>
      )}
    </div>
  )
}

function nameOf(names: Readonly<Record<string, string>>, kind: string): string {
  return names[kind] ?? kind
}
