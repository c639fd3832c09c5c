import { useFormat } from '../../base/format.ts'
import { translations, useLanguage } from '../../base/language.ts'
import { shareText, shortMoneyText } from '../../base/money.ts'
import type { Day, Overview } from '../../contract/types.ts'
import { Card } from '../../ui/page.tsx'
import { Chart } from '../../ui/data/chart.tsx'
import { conversionOf } from './figures.tsx'

const useTexts = translations({
  volume: ['Volume recebido', 'Volume received'],
  volumeText: ['Últimos 30 dias, por dia', 'Last 30 days, by day'],
  received: ['Recebido', 'Received'],
  volumeSummary: (total: string, day: string, most: string) => [
    `Volume recebido por dia nos últimos 30 dias: ${total} no total; o maior dia foi ${day}, com ${most}.`,
    `Volume received by day in the last 30 days: ${total} in total; the highest day was ${day} with ${most}.`,
  ],
  conversion: ['Conversão', 'Conversion'],
  conversionText: (share: string) => [`${share} pagos`, `${share} paid`],
  created: ['Criados', 'Created'],
  paid: ['Pagos', 'Paid'],
  conversionNone: ['Nenhum depósito criado nos últimos 30 dias', 'No deposits created in the last 30 days'],
  conversionSummary: (created: string, paid: string) => [
    `Depósitos por dia nos últimos 30 dias: ${created} criados e ${paid} pagos no total.`,
    `Deposits by day in the last 30 days: ${created} created and ${paid} paid in total.`,
  ],
  more: (points: string) => [
    `${points} p.p. acima dos 30 dias anteriores`,
    `up ${points} points on the previous 30 days`,
  ],
  less: (points: string) => [
    `${points} p.p. abaixo dos 30 dias anteriores`,
    `down ${points} points on the previous 30 days`,
  ],
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
  const t = useTexts()
  const { language, money, day: dayText } = useFormat()
  const most = days.reduce((a, b) => (b.paidValue > a.paidValue ? b : a))
  const total = days.reduce((sum, day) => sum + day.paidValue, 0)
  return (
    <Card title={t.volume} text={t.volumeText} className="min-w-0">
      <Chart
        summary={t.volumeSummary(money(total), dayText(most.day), money(most.paidValue))}
        days={days.map((day) => day.day)}
        series={[{ label: t.received, values: days.map((day) => day.paidValue) }]}
        format={money}
        formatAxis={(cents) => (cents === 0 ? '0' : shortMoneyText(Math.round(cents), language))}
      />
    </Card>
  )
}

function ConversionChart({ overview }: { overview: Overview }) {
  const t = useTexts()
  const { count } = useFormat()
  const { days, last30 } = overview
  return (
    <Card title={t.conversion} text={<ConversionText overview={overview} />} className="min-w-0">
      <Chart
        summary={t.conversionSummary(count(last30.created), count(last30.paid))}
        days={days.map((day) => day.day)}
        series={[
          // Paid is drawn over created, so the visible rest was not paid.
          { label: t.created, values: days.map((day) => day.created), tone: 'edge' },
          { label: t.paid, values: days.map((day) => day.paid) },
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

/** Hidden from screen readers, which have the summary. */
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
  const t = useTexts()
  const language = useLanguage()
  const now = conversionOf(last30)
  const before = conversionOf(previous30)
  if (now === undefined) return t.conversionNone
  const share = t.conversionText(shareText(now, language))
  // Rounded to tenths of a point, as it is shown.
  const change = before === undefined ? 0 : Math.round((now - before) * 1000) / 10
  if (change === 0) return share
  const points = new Intl.NumberFormat(language).format(Math.abs(change))
  return `${share} · ${change > 0 ? t.more(points) : t.less(points)}`
}
