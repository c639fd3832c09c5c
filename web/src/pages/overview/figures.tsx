import type { ReactNode } from 'react'
import { useLanguage, words, type Language } from '../../base/language.ts'
import { countText, shareText } from '../../base/money.ts'
import { Card } from '../../ui/card.tsx'
import { Money } from '../../ui/money.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { conversionOf, type Overview, type Period } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    balance: 'Saldo',
    balanceNote: 'Depósitos pagos, menos tarifas e devoluções',
    today: 'Recebido hoje',
    last30: 'Recebido em 30 dias',
    more: (change: string, before: string) => `${change}, mais que ${before}`,
    less: (change: string, before: string) => `${change}, menos que ${before}`,
    same: (before: string) => `O mesmo que ${before}`,
    nothing: (before: string) => `Nada, como ${before}`,
    fromNothing: (before: string) => `Nada recebido ${before}`,
    yesterday: 'em todo o dia de ontem',
    previous: 'nos 30 dias anteriores',
    paidOf: (paid: string, created: string) => `Pagos: ${paid} de ${created} criados`,
  },
  en: {
    balance: 'Balance',
    balanceNote: 'Paid deposits, less fees and refunds',
    today: 'Received today',
    last30: 'Received in 30 days',
    more: (change: string, before: string) => `${change}, more than ${before}`,
    less: (change: string, before: string) => `${change}, less than ${before}`,
    same: (before: string) => `The same as ${before}`,
    nothing: (before: string) => `Nothing, as ${before}`,
    fromNothing: (before: string) => `Nothing received ${before}`,
    yesterday: 'in all of yesterday',
    previous: 'in the 30 days before',
    paidOf: (paid: string, created: string) => `Paid: ${paid} of ${created} created`,
  },
})

export function Figures({ overview }: { overview: Overview | undefined }) {
  const t = useWords()
  return (
    <div className="grid gap-4 sm:grid-cols-2 lg:grid-cols-[1.15fr_1fr_1fr]">
      <Tile
        className="sm:max-lg:col-span-2"
        label={t.balance}
        value={overview && <Money cents={overview.balance} />}
        isLarge
      >
        <p className={NOTE}>{t.balanceNote}</p>
      </Tile>
      <PeriodTile label={t.today} now={overview?.today} before={overview?.yesterday} name={t.yesterday} />
      <PeriodTile label={t.last30} now={overview?.last30} before={overview?.previous30} name={t.previous} />
    </div>
  )
}

function PeriodTile(props: { label: string; now: Period | undefined; before: Period | undefined; name: string }) {
  const t = useWords()
  const language = useLanguage()
  const { now, before } = props
  const count = (number: number) => countText(number, language)
  const conversion = now && conversionOf(now)
  return (
    <Tile label={props.label} value={now && <Money cents={now.paidValue} />}>
      <p className={NOTE}>
        {now && before ? <Change now={now.paidValue} before={before.paidValue} name={props.name} /> : <NotePlace />}
      </p>
      <p className={NOTE}>
        {now ? t.paidOf(count(now.paid), count(now.created)) : <NotePlace />}
        {conversion !== undefined && ` · ${shareText(conversion, 1, language)}`}
      </p>
    </Tile>
  )
}

const NOTE = 'figures mt-1 min-h-5 text-sm text-soft'

function NotePlace() {
  return <Skeleton className="h-4 w-48" />
}

/** One number, and what puts it into proportion; their place is kept while they are on their way. */
function Tile(props: { label: string; value: ReactNode; isLarge?: boolean; className?: string; children: ReactNode }) {
  return (
    <Card {...(props.className && { className: props.className })}>
      <p className="text-sm font-medium text-soft">{props.label}</p>
      <p
        className={`figures mt-1 flex min-h-12 items-center font-semibold tracking-tight wrap-anywhere ${props.isLarge ? 'text-4xl' : 'text-3xl'}`}
      >
        {props.value ?? <Skeleton className="h-8 w-44" />}
      </p>
      {props.children}
    </Card>
  )
}

/** Against the period before, by sign and in words: colour alone would tell some readers nothing. */
function Change({ now, before, name }: { now: number; before: number; name: string }) {
  const t = useWords()
  const language = useLanguage()
  if (before === 0) return now === 0 ? t.nothing(name) : t.fromNothing(name)
  if (now === before) return t.same(name)
  const change = changeText((now - before) / before, language)
  return (
    <span className={now > before ? 'text-good' : 'text-wait'}>
      {now > before ? t.more(change, name) : t.less(change, name)}
    </span>
  )
}

function changeText(share: number, language: Language): string {
  const digits = Math.abs(share) < 0.1 ? 1 : 0
  return new Intl.NumberFormat(language, {
    style: 'percent',
    signDisplay: 'exceptZero',
    maximumFractionDigits: digits,
  }).format(share)
}
