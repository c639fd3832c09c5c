import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import type { CounterDeposit, CounterTotals, Takings } from '../../contract/types.ts'
import { Badge, Status } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { ChevronRightIcon } from '../../ui/icons.tsx'
import { Card, DetailList, Failure, Skeleton } from '../../ui/page.tsx'
import { beginShift, endShift, type Till } from './till.ts'

const useTexts = translations({
  title: ['Movimento', 'Takings'],
  today: ['Hoje, em todos os caixas', 'Today, at all tills'],
  shift: ['Turno deste caixa', 'Shift of this till'],
  since: (time: string) => [`Desde ${time}`, `Since ${time}`],
  from: (begin: string, end: string) => [`De ${begin} a ${end}`, `From ${begin} to ${end}`],
  noShift: ['Nenhum turno começou neste caixa.', 'No shift has begun at this till.'],
  begin: ['Começar turno', 'Begin shift'],
  end: ['Encerrar turno', 'End shift'],
  beginNext: ['Começar outro turno', 'Begin another shift'],
  received: ['Recebido', 'Received'],
  count: (count: number) => [
    count === 1 ? '1 cobrança paga' : `${count} cobranças pagas`,
    count === 1 ? '1 charge paid' : `${count} charges paid`,
  ],
  refunded: ['Devolvido', 'Refunded'],
  left: ['Recebido menos devolvido', 'Received less refunded'],
  pending: ['Aguardando pagamento', 'Waiting for payment'],
  ended: ['Canceladas e expiradas', 'Canceled and expired'],
  fees: ['Valores brutos, antes das tarifas.', 'Gross amounts, before fees.'],
  list: ['Cobranças de hoje', 'Charges of today'],
  none: ['Nenhuma cobrança do balcão ainda.', 'No charges at the counter yet.'],
  listed: (count: number) => [`As ${count} mais recentes.`, `The latest ${count}.`],
  held: ['Em análise', 'Under review'],
  partly: ['Devolvido', 'Refunded'],
  till: (id: string) => [`Caixa ${id}`, `Till ${id}`],
  cut: [
    'Esta conta tem depósitos demais hoje: só os mais recentes foram somados.',
    'This account has too many deposits today: only the newest were added up.',
  ],
})

type Props = {
  till: Till
  takings: { data: Takings | undefined; error: Error | null; refetch: () => unknown }
  onOpen: (deposit: CounterDeposit) => void
}

/** As many as the server lists. */
const LISTED = 100

export function TakingsScreen({ till, takings, onOpen }: Props) {
  const t = useTexts()
  const { data, error } = takings
  return (
    <div className="mx-auto w-full max-w-3xl space-y-4 p-4 pb-[calc(1rem+env(safe-area-inset-bottom))]">
      <h1 className="text-2xl font-semibold tracking-tight">{t.title}</h1>
      {error && !data && (
        <Card>
          <Failure error={error} onRetry={() => void takings.refetch()} />
        </Card>
      )}
      {data?.isComplete === false && <p className="rounded-lg bg-wait-ground px-4 py-3 text-wait">{t.cut}</p>}
      <div className="grid gap-4 sm:grid-cols-2">
        <ShiftCard till={till} totals={data?.shift} />
        <Card title={t.today}>{data ? <Sums totals={data.today} /> : <Skeleton className="h-24 w-full" />}</Card>
      </div>
      <p className="px-1 text-sm text-soft">{t.fees}</p>
      <Card title={t.list} isFlush>
        {data?.deposits.length === 0 && <p className="px-5 pb-5 text-soft">{t.none}</p>}
        <ul className="divide-y divide-line">
          {data?.deposits.map((deposit) => (
            <Row key={deposit.paymentLinkId} deposit={deposit} ownTill={till.id} onOpen={onOpen} />
          ))}
        </ul>
        {data?.deposits.length === LISTED && <p className="px-5 py-3 text-sm text-soft">{t.listed(LISTED)}</p>}
      </Card>
    </div>
  )
}

function ShiftCard({ till, totals }: { till: Till; totals: CounterTotals | null | undefined }) {
  const t = useTexts()
  const { time } = useFormat()
  const shift = till.shift.use()
  if (!shift)
    return (
      <Card title={t.shift} text={t.noShift}>
        <Button kind="primary" onClick={() => beginShift(till, new Date())}>
          {t.begin}
        </Button>
      </Card>
    )
  const { startedAt, endedAt } = shift
  return (
    <Card title={t.shift} text={endedAt === null ? t.since(time(startedAt)) : t.from(time(startedAt), time(endedAt))}>
      {totals ? <Sums totals={totals} /> : <Skeleton className="h-24 w-full" />}
      <div className="mt-4">
        {endedAt === null ? (
          <Button onClick={() => endShift(till, new Date())}>{t.end}</Button>
        ) : (
          <Button kind="primary" onClick={() => beginShift(till, new Date())}>
            {t.beginNext}
          </Button>
        )}
      </div>
    </Card>
  )
}

/** What is paid, and beside it what is not: a sum of both would be money that nobody has. */
function Sums({ totals }: { totals: CounterTotals }) {
  const t = useTexts()
  const { money, count } = useFormat()
  const { paid, paidValue, refunded, refundedValue, pending, pendingValue, expired, canceled } = totals
  const ended = expired + canceled
  return (
    <>
      <p className="text-sm text-soft">{t.received}</p>
      <p className="figures text-3xl font-semibold tracking-tight">{money(paidValue)}</p>
      <p className="figures mb-3 text-sm text-soft">{t.count(paid)}</p>
      <DetailList
        details={[
          { name: t.refunded, value: refunded > 0 ? money(refundedValue) : null },
          { name: t.left, value: refunded > 0 ? <b>{money(paidValue - refundedValue)}</b> : null },
          { name: t.pending, value: pending > 0 ? `${count(pending)} · ${money(pendingValue)}` : null },
          { name: t.ended, value: ended > 0 ? count(ended) : null },
        ]}
      />
    </>
  )
}

type RowProps = { deposit: CounterDeposit; ownTill: string; onOpen: (deposit: CounterDeposit) => void }

function Row({ deposit, ownTill, onOpen }: RowProps) {
  const t = useTexts()
  const { money, time } = useFormat()
  const { value, status, createdAt, paidAt, description, till, heldValue, refundedValue } = deposit
  const notes = [time(paidAt ?? createdAt), till !== ownTill && t.till(till), description].filter(Boolean)
  return (
    <li>
      <button
        type="button"
        onClick={() => onOpen(deposit)}
        className="flex min-h-14 w-full items-center gap-3 px-5 py-2 text-left -outline-offset-2 hover:bg-hover"
      >
        <span className="min-w-0 grow">
          <span className="figures block font-semibold">{money(value)}</span>
          <span className="figures block truncate text-sm text-soft">{notes.join(' · ')}</span>
        </span>
        <span className="flex shrink-0 flex-wrap justify-end gap-1">
          {heldValue > 0 && <Badge tone="wait">{t.held}</Badge>}
          {refundedValue > 0 && <Badge>{t.partly}</Badge>}
          <Status status={status} />
        </span>
        <ChevronRightIcon className="size-4 text-soft" />
      </button>
    </li>
  )
}
