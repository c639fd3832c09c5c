import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import type { Closing, DayComparison } from '../../contract/types.ts'
import { Figure } from '../../ui/page.tsx'
import { Copyable, Money } from '../../ui/data/values.tsx'
import { Notice } from '../../ui/notice.tsx'

const useTexts = translations({
  atProvider: ['No provedor', 'At the provider'],
  inLedger: ['No livro-razão', 'In the ledger'],
  gap: ['Diferença', 'Difference'],
  pix: (count: string) => [`${count} Pix`, `${count} Pix`],
  agree: ['Provedor e livro-razão conferem, Pix por Pix.', 'Provider and ledger agree, Pix by Pix.'],
  differences: (count: string) => [
    count === '1' ? '1 diferença' : `${count} diferenças`,
    count === '1' ? '1 difference' : `${count} differences`,
  ],
  cut: ['Mostrando as primeiras 100.', 'Showing the first 100.'],
  kind: {
    not_in_books: [
      'Recebido pelo provedor, mas não pôde ser lançado no livro-razão',
      'Received by the provider, but could not be booked',
    ],
    not_at_provider: ['No livro-razão, mas desconhecido do provedor', 'In the ledger, but unknown to the provider'],
    other_provider: [
      'No livro-razão como recebido por outro provedor',
      'In the ledger as received by another provider',
    ],
    other_amount: ['Valor diferente', 'Different amount'],
    other_txid: ['txid diferente', 'Different txid'],
    other_time: ['Horário em outro dia', 'Time on a different day'],
    outside_window: [
      'Listado pelo provedor fora do período pedido',
      'Listed by the provider outside the time asked for',
    ],
    foreign_refund: ['Devolvido fora do guiche', 'Refunded outside guiche'],
    refund_not_in_books: [
      'Devolvido pelo provedor, mas não consta no livro-razão',
      'Refunded by the provider, but not in the ledger',
    ],
    refund_not_at_provider: [
      'Devolução no livro-razão, mas desconhecida do provedor',
      'Refund in the ledger, but unknown to the provider',
    ],
    refund_other_amount: ['Devolução de valor diferente', 'Refund with a different amount'],
    refund_other_nature: ['Devolução de natureza diferente', 'Refund of a different nature'],
    unread: ['Ilegível', 'Unreadable'],
  },
})

/** Both sides of a day at one provider, and each difference. */
export function ComparisonResult({ comparison }: { comparison: Closing | DayComparison }) {
  const t = useTexts()
  const { count } = useFormat()
  const kinds: Readonly<Record<string, string>> = t.kind
  const gap = comparison.providerTotal - comparison.ledgerTotal
  return (
    <div className="space-y-5">
      <div className="grid grid-cols-[repeat(auto-fit,minmax(13rem,1fr))] gap-x-4 gap-y-5">
        <Figure
          label={t.atProvider}
          value={<Money cents={comparison.providerTotal} />}
          note={t.pix(count(comparison.providerCount))}
        />
        <Figure
          label={t.inLedger}
          value={<Money cents={comparison.ledgerTotal} />}
          note={t.pix(count(comparison.ledgerCount))}
        />
        <Figure label={t.gap} value={<Money cents={gap} sign className={gap === 0 ? '' : 'text-bad'} />} />
      </div>
      {comparison.differenceCount === 0 ? (
        <Notice tone="good">{t.agree}</Notice>
      ) : (
        <div>
          <h3 className="figures mb-1 font-semibold text-bad">{t.differences(count(comparison.differenceCount))}</h3>
          <ul className="divide-y divide-line">
            {comparison.differences.map((difference, index) => (
              <li key={index} className="py-3">
                <p className="font-medium">{kinds[difference.kind] ?? difference.kind}</p>
                <Copyable text={difference.endToEndId} />
                <p className="text-sm text-soft wrap-anywhere">{difference.text}</p>
              </li>
            ))}
          </ul>
          {comparison.differenceCount > comparison.differences.length && (
            <p className="mt-2 text-sm text-soft">{t.cut}</p>
          )}
        </div>
      )}
    </div>
  )
}
