import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import type { Statement } from '../../contract/types.ts'
import { Money } from '../../ui/data/values.tsx'
import { useLineTitle } from './line.tsx'

export const useColumnTexts = translations({
  when: ['Data', 'Date'],
  what: ['Lançamento', 'Entry'],
  gross: ['Bruto', 'Gross'],
  fee: ['Tarifa', 'Fee'],
  net: ['Líquido', 'Net'],
  after: ['Saldo', 'Balance'],
})

const useTexts = translations({
  caption: ['Totais do período', 'Totals of the period'],
  count: ['Quantidade', 'Count'],
  opening: ['Saldo inicial', 'Opening balance'],
  closing: ['Saldo final', 'Closing balance'],
})

const NARROW = 'max-sm:hidden'

/**
 * From the opening to the closing balance, by kinds of lines. A part of the lines does not lead from one to the other,
 * so it has only totals.
 */
export function Summary({ statement, isPart = false }: { statement: Statement; isPart?: boolean }) {
  const t = useTexts()
  const columns = useColumnTexts()
  const { count } = useFormat()
  const title = useLineTitle()
  const { openingBalance = 0, closingBalance = 0, totals = [] } = statement
  return (
    <table className="figures w-full text-left [&_:is(td,th)]:px-3 [&_:is(td,th)]:py-2 [&_:is(td,th):first-child]:pl-5 [&_:is(td,th):last-child]:pr-5">
      <caption className="sr-only">{t.caption}</caption>
      <thead>
        <tr className="text-sm text-soft [&>th]:font-semibold">
          <th scope="col">{columns.what}</th>
          <th scope="col" className={`text-right ${NARROW}`}>
            {t.count}
          </th>
          <th scope="col" className={`text-right ${NARROW}`}>
            {columns.gross}
          </th>
          <th scope="col" className={`text-right ${NARROW}`}>
            {columns.fee}
          </th>
          <th scope="col" className="text-right">
            {columns.net}
          </th>
        </tr>
      </thead>
      <tbody className="divide-y divide-line border-y border-line">
        {!isPart && <Balance label={t.opening} cents={openingBalance} />}
        {totals.map(({ kind, ...sums }) => (
          <tr key={kind}>
            <th scope="row" className="font-normal">
              {title(kind)}
            </th>
            <td className={`text-right ${NARROW}`}>{count(sums.count)}</td>
            <td className={`text-right ${NARROW}`}>
              <Money cents={sums.gross} />
            </td>
            <td className={`text-right ${NARROW}`}>
              <Money cents={sums.fee} />
            </td>
            <td className="text-right">
              <Money cents={sums.net} sign />
            </td>
          </tr>
        ))}
        {!isPart && <Balance label={t.closing} cents={closingBalance} />}
      </tbody>
    </table>
  )
}

function Balance({ label, cents }: { label: string; cents: number }) {
  return (
    <tr className="font-semibold">
      <th scope="row">{label}</th>
      <td colSpan={3} className={NARROW}>
        {'\u{a0}'}
      </td>
      <td className="text-right">
        <Money cents={cents} />
      </td>
    </tr>
  )
}
