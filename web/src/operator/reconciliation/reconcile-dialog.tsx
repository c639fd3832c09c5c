import { useState } from 'react'
import { post } from '../../base/api.ts'
import { addDays, dayOf, endOfDayIso, startOfDayIso } from '../../base/dates.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import type { DayComparison } from '../../contract/types.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/form/dialog.tsx'
import { Input, Select, useFields } from '../../ui/form/form.tsx'
import { FormDialog } from '../../ui/form/form-dialog.tsx'
import { Notice } from '../../ui/notice.tsx'
import { ComparisonResult } from './comparison.tsx'

const useTexts = translations({
  title: ['Conciliar um dia', 'Reconcile a day'],
  text: [
    'Lê o que o provedor recebeu no dia, lança o que faltar no livro-razão e mostra cada diferença. Um dia encerrado é fechado de novo.',
    'Reads what the provider received on the day, books what is missing in the ledger and shows each difference. A past day is closed again.',
  ],
  day: ['Dia', 'Day'],
  provider: ['Provedor', 'Provider'],
  all: ['Todos', 'All'],
  run: ['Conciliar', 'Reconcile'],
  running: [
    'Consultando o provedor. Um dia movimentado pode levar até um minuto.',
    'Querying the provider. A busy day may take up to a minute.',
  ],
  close: ['Fechar', 'Close'],
  result: (day: string) => [`Conciliação de ${day}`, `Reconciliation of ${day}`],
  settled: (count: string, amount: string) => [
    count === '1'
      ? `1 Pix que faltava foi lançado: ${amount}.`
      : `${count} Pix que faltavam foram lançados: ${amount}.`,
    count === '1' ? `1 missing Pix was booked: ${amount}.` : `${count} missing Pix were booked: ${amount}.`,
  ],
  closed: ['O dia foi fechado com este resultado.', 'The day was closed with this result.'],
  notClosed: ['O dia ainda não terminou, por isso não foi fechado.', 'The day is not over yet, so it was not closed.'],
})

/** The server gives up after 50 s. */
const TIMEOUT_MS = 60_000

type Props = { providers: readonly string[]; day?: string; onClose: () => void }

export function ReconcileDialog({ providers, day: given, onClose }: Props) {
  const t = useTexts()
  const { day: dayText } = useFormat()
  const [today] = useState(() => dayOf(new Date()))
  const { typed, field } = useFields({ day: given ?? addDays(today, -1), provider: '' })
  const { day, provider } = typed
  const [results, setResults] = useState<DayComparison[]>()
  const run = async () => {
    const body = { ...windowOf(day), ...(provider !== '' && { provider }) }
    try {
      const options = { timeoutMs: TIMEOUT_MS }
      const answer = await post<{ comparisons: DayComparison[] }>('/operator/reconcile', body, options)
      setResults(answer.comparisons)
    } finally {
      // Reloads after a failure too, because what was booked stays booked.
      void refresh(['closings'], ['list', '/operator/exceptions'], ['operator-overview'], ['open'])
    }
  }
  if (results) return <Result day={day} results={results} onClose={onClose} />
  return (
    <FormDialog
      title={given === undefined ? t.title : t.result(dayText(given))}
      text={t.text}
      action={t.run}
      onSend={run}
      onClose={onClose}
      canSend={day !== '' && day <= today}
      progress={<Notice>{t.running}</Notice>}
    >
      <Input {...field('day')} label={t.day} type="date" max={today} required />
      <Select
        {...field('provider')}
        label={t.provider}
        choices={[{ value: '', label: t.all }, ...providers.map((name) => ({ value: name, label: name }))]}
      />
    </FormDialog>
  )
}

function Result({ day, results, onClose }: { day: string; results: DayComparison[]; onClose: () => void }) {
  const t = useTexts()
  const { day: dayText, count, money } = useFormat()
  return (
    <Dialog
      isWide
      onClose={onClose}
      title={t.result(dayText(day))}
      footer={
        <Button kind="primary" onClick={onClose}>
          {t.close}
        </Button>
      }
    >
      <div className="space-y-8">
        {results.map((result) => (
          <section key={`${result.provider} ${result.from}`} className="space-y-4">
            <h3 className="font-semibold">{result.provider}</h3>
            <ComparisonResult comparison={result} />
            {result.settledCount > 0 && (
              <Notice tone="mark">{t.settled(count(result.settledCount), money(result.settledTotal))}</Notice>
            )}
            <p className="text-sm text-soft">{result.revision === null ? t.notClosed : t.closed}</p>
          </section>
        ))}
      </div>
    </Dialog>
  )
}

/** Returns the start and end of a day of the books. If the day is not over, it ends now. */
function windowOf(day: string): { from: string | undefined; to: string | undefined } {
  const [end, now] = [endOfDayIso(day), new Date().toISOString()]
  return { from: startOfDayIso(day), to: end !== undefined && end < now ? end : now }
}
