import { dayText } from '../../base/dates.ts'
import { useLanguage, words } from '../../base/language.ts'
import { countText, moneyText, shareText, shortMoneyText } from '../../base/money.ts'
import { Card } from '../../ui/card.tsx'
import { Chart } from '../../ui/chart.tsx'
import { conversionOf, type Day, type Overview } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    volume: 'Volume recebido',
    volumeText: 'Por dia, nos últimos 30 dias',
    received: 'Recebido',
    volumeSummary: (total: string, day: string, most: string) =>
      `Volume recebido por dia nos últimos 30 dias: ${total} no total; o maior dia foi ${day}, com ${most}.`,
    conversion: 'Conversão',
    conversionText: (share: string) => `${share} pagos`,
    created: 'Criados',
    paid: 'Pagos',
    before: (points: string) => `${points} que nos 30 dias anteriores`,
    conversionNone: 'Nenhum depósito criado em 30 dias',
    conversionSummary: (created: string, paid: string) =>
      `Depósitos por dia nos últimos 30 dias: ${created} criados e ${paid} pagos no total.`,
    more: (points: string) => `${points} pontos, mais`,
    less: (points: string) => `${points} pontos, menos`,
  },
  en: {
    volume: 'Volume received',
    volumeText: 'By day, in the last 30 days',
    received: 'Received',
    volumeSummary: (total: string, day: string, most: string) =>
      `Volume received by day in the last 30 days: ${total} in total; the largest day was ${day} with ${most}.`,
    conversion: 'Conversion',
    conversionText: (share: string) => `${share} paid`,
    created: 'Created',
    paid: 'Paid',
    before: (points: string) => `${points} than in the 30 days before`,
    conversionNone: 'No deposit was created in 30 days',
    conversionSummary: (created: string, paid: string) =>
      `Deposits by day in the last 30 days: ${created} created and ${paid} paid in total.`,
    more: (points: string) => `${points} points, more`,
    less: (points: string) => `${points} points, less`,
  },
})

export function ActivityCharts({ overview }: { overview: Overview }) {
  return (
    <div className="grid gap-4 lg:grid-cols-2">
      <VolumeChart days={overview.days} />
      <ConversionChart overview={overview} />
    </div>
  )
}

function VolumeChart({ days }: { days: readonly Day[] }) {
  const t = useWords()
  const language = useLanguage()
  const money = (cents: number) => moneyText(Math.round(cents), language)
  const most = days.reduce((a, b) => (b.paidValue > a.paidValue ? b : a))
  const total = days.reduce((sum, day) => sum + day.paidValue, 0)
  return (
    <Card title={t.volume} text={t.volumeText} className="min-w-0">
      <Chart
        summary={t.volumeSummary(money(total), dayText(most.day, language), money(most.paidValue))}
        days={days.map((day) => day.day)}
        series={[{ label: t.received, values: days.map((day) => day.paidValue), kind: 'bars' }]}
        format={money}
        formatAxis={(cents) => (cents === 0 ? '0' : shortMoneyText(Math.round(cents), language))}
      />
      <Legend entries={[{ label: t.received, color: 'bg-accent' }]} />
    </Card>
  )
}

function ConversionChart({ overview }: { overview: Overview }) {
  const t = useWords()
  const language = useLanguage()
  const count = (number: number) => countText(Math.round(number), language)
  const { days, last30 } = overview
  return (
    <Card title={t.conversion} text={<ConversionText overview={overview} />} className="min-w-0">
      <Chart
        summary={t.conversionSummary(count(last30.created), count(last30.paid))}
        days={days.map((day) => day.day)}
        series={[
          // The paid ones stand before the created ones, so that what is seen of those was not paid.
          { label: t.created, values: days.map((day) => day.created), kind: 'bars', tone: 'edge' },
          { label: t.paid, values: days.map((day) => day.paid), kind: 'bars' },
        ]}
        format={count}
        formatAxis={(value) => (Number.isInteger(value) ? count(value) : '')}
      />
      <Legend
        entries={[
          { label: t.created, color: 'bg-edge' },
          { label: t.paid, color: 'bg-accent' },
        ]}
      />
    </Card>
  )
}

/** Under the chart; whoever does not see it has the summary. */
function Legend({ entries }: { entries: readonly { label: string; color: string }[] }) {
  return (
    <p aria-hidden="true" className="mt-2 flex justify-center gap-5 text-sm text-soft">
      {entries.map(({ label, color }) => (
        <span key={label} className="flex items-center gap-1.5">
          <span className={`size-2.5 rounded-xs ${color}`} />
          {label}
        </span>
      ))}
    </p>
  )
}

function ConversionText({ overview: { last30, previous30 } }: { overview: Overview }) {
  const t = useWords()
  const language = useLanguage()
  const now = conversionOf(last30)
  const before = conversionOf(previous30)
  if (now === undefined) return t.conversionNone
  const share = t.conversionText(shareText(now, 1, language)!)
  // In tenths of a point, as it is shown.
  const change = before === undefined ? 0 : Math.round((now - before) * 1000) / 10
  if (change === 0) return share
  const points = new Intl.NumberFormat(language, { signDisplay: 'exceptZero' }).format(change)
  return `${share} · ${t.before(change > 0 ? t.more(points) : t.less(points))}`
}
