import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { post } from '../../base/api.ts'
import { dayText } from '../../base/dates.ts'
import { useLanguage, words } from '../../base/language.ts'
import { countText, moneyText } from '../../base/money.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Input, Select } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Comparison } from './comparison.tsx'
import type { Statement } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Conciliar um dia',
    text: 'Lê o que a instituição recebeu no dia, lança o que faltar no razão e aponta cada diferença. Um dia que já terminou é fechado de novo.',
    day: 'Dia',
    provider: 'Instituição',
    all: 'Todas',
    run: 'Conciliar',
    running: 'Lendo na instituição. Um dia cheio pode levar até um minuto.',
    close: 'Fechar',
    result: (day: string) => `Conciliação de ${day}`,
    settled: (count: string, amount: string) =>
      count === '1'
        ? `1 Pix que faltava foi lançado agora: ${amount}.`
        : `${count} Pix que faltavam foram lançados agora: ${amount}.`,
    closed: 'O dia foi fechado com este resultado.',
    notClosed: 'O dia ainda não terminou, e por isso não foi fechado.',
  },
  en: {
    title: 'Reconcile a day',
    text: 'Reads what the provider received on that day, books what is missing in the ledger, and names each difference. A day that is over is closed again.',
    day: 'Day',
    provider: 'Provider',
    all: 'All',
    run: 'Reconcile',
    running: 'Reading at the provider. A busy day may take up to a minute.',
    close: 'Close',
    result: (day: string) => `Reconciliation of ${day}`,
    settled: (count: string, amount: string) =>
      count === '1'
        ? `1 Pix was missing and is booked now: ${amount}.`
        : `${count} Pix were missing and are booked now: ${amount}.`,
    closed: 'The day was closed with this outcome.',
    notClosed: 'The day is not over, and was not closed therefore.',
  },
})

/** The server gives up after 50 s, and says so. */
const TIMEOUT_MS = 60_000
const DAY_MS = 24 * 3_600_000

type Answer = { statements: Statement[]; differenceCount: number }

export function ReconcileDialog({
  providers,
  day: given,
  onClose,
}: {
  providers: readonly string[]
  day?: string
  onClose: () => void
}) {
  const t = useWords()
  const language = useLanguage()
  const queryClient = useQueryClient()
  const [today] = useState(() => brazilianDay(Date.now()))
  const [day, setDay] = useState(() => given ?? brazilianDay(Date.now() - DAY_MS))
  const [provider, setProvider] = useState('')
  const run = useMutation({
    mutationFn: () =>
      post<Answer>(
        '/operator/reconcile',
        { ...windowOf(day), ...(provider !== '' && { provider }) },
        { timeoutMs: TIMEOUT_MS },
      ),
    // What was booked before a failure stays booked.
    onSettled: () => {
      void queryClient.invalidateQueries({ queryKey: ['closings'] })
      void queryClient.invalidateQueries({ queryKey: ['list', '/operator/exceptions'] })
      void queryClient.invalidateQueries({ queryKey: ['operator-overview'] })
    },
  })
  if (run.data) return <Result day={day} statements={run.data.statements} onClose={onClose} />
  return (
    <FormDialog
      title={given === undefined ? t.title : t.result(dayText(given, language))}
      text={t.text}
      action={t.run}
      sending={run}
      onSend={() => run.mutate()}
      onClose={onClose}
      canSend={day !== '' && day <= today}
    >
      <Input
        label={t.day}
        type="date"
        max={today}
        value={day}
        onChange={(event) => setDay(event.target.value)}
        required
      />
      <Select
        label={t.provider}
        value={provider}
        onChange={(event) => setProvider(event.target.value)}
        choices={[{ value: '', label: t.all }, ...providers.map((name) => ({ value: name, label: name }))]}
      />
      <div aria-live="polite">{run.isPending && <Notice>{t.running}</Notice>}</div>
    </FormDialog>
  )
}

function Result({ day, statements, onClose }: { day: string; statements: Statement[]; onClose: () => void }) {
  const t = useWords()
  const language = useLanguage()
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title={t.result(dayText(day, language))}
      footer={
        <Button kind="primary" onClick={onClose}>
          {t.close}
        </Button>
      }
    >
      <div className="space-y-8">
        {statements.map((statement) => (
          <section key={`${statement.provider} ${statement.from}`} className="space-y-4">
            <h3 className="font-semibold">{statement.provider}</h3>
            <Comparison compared={statement} />
            {statement.settledCount > 0 && (
              <Notice tone="mark">
                {t.settled(countText(statement.settledCount, language), moneyText(statement.settledTotal, language))}
              </Notice>
            )}
            <p className="text-sm text-soft">{statement.revision === null ? t.notClosed : t.closed}</p>
          </section>
        ))}
      </div>
    </Dialog>
  )
}

/** Which day it is in Brazil, where the books count days. */
function brazilianDay(atMs: number): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone: 'America/Sao_Paulo' }).format(atMs)
}

/** A day of Brasília, which has had no summer time since 2019; of today, what is over of it. */
function windowOf(day: string): { from: string; to: string } {
  const fromMs = Date.parse(`${day}T00:00:00-03:00`)
  return {
    from: new Date(fromMs).toISOString(),
    to: new Date(Math.min(fromMs + DAY_MS, Date.now())).toISOString(),
  }
}
