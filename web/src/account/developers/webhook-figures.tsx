import { clockText, dateTimeText } from '../../base/dates.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { shareText } from '../../base/money.ts'
import type { WebhookStats } from '../../contract/types.ts'
import { Chart } from '../../ui/data/chart.tsx'
import { Card, Figure, Skeleton } from '../../ui/page.tsx'

const useTexts = translations({
  title: ['Tentativas', 'Attempts'],
  day: ['Últimas 24 horas', 'Last 24 hours'],
  week: ['Últimos 7 dias', 'Last 7 days'],
  sampled: (since: string) => [
    `Contam os 2.000 eventos mais novos da conta, desde ${since}.`,
    `Counts the account’s newest 2,000 events, since ${since}.`,
  ],
  delivered: (delivered: string, attempts: string) => [
    `${delivered} de ${attempts} entregues`,
    `${delivered} of ${attempts} delivered`,
  ],
  none: ['nenhuma tentativa', 'no attempts'],
  latency: (half: string, most: string) => [`p50 ${half} ms, p95 ${most} ms`, `p50 ${half} ms, p95 ${most} ms`],
  tried: ['Todas', 'All'],
  good: ['Entregues', 'Delivered'],
  summary: (attempts: string, failed: string) => [
    `Tentativas por hora nas últimas 24 horas: ${attempts}, das quais ${failed} falharam.`,
    `Attempts by hour in the last 24 hours: ${attempts}, of which ${failed} failed.`,
  ],
})

export function WebhookFigures({ stats }: { stats: WebhookStats | undefined }) {
  const t = useTexts()
  const { count, language } = useFormat()
  if (!stats) return <Skeleton className="block! h-96 w-full rounded-2xl" />
  const { sampledSince, day, week, hours } = stats
  return (
    <Card title={t.title} text={sampledSince && t.sampled(dateTimeText(sampledSince, language))} className="min-w-0">
      <div className="space-y-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <OneFigure label={t.day} figures={day} />
          <OneFigure label={t.week} figures={week} />
        </div>
        <Chart
          summary={t.summary(count(day.attempts), count(day.attempts - day.delivered))}
          days={hours.map(({ hour }) => hour)}
          labelOf={(hour) => clockText(hour, language)}
          series={[
            // All attempts, with the delivered ones drawn on top: what stays visible failed.
            { label: t.tried, values: hours.map(({ delivered, failed }) => delivered + failed), tone: 'edge' },
            { label: t.good, values: hours.map(({ delivered }) => delivered) },
          ]}
          format={count}
          formatAxis={(value) => (Number.isInteger(value) ? count(value) : '')}
        />
      </div>
    </Card>
  )
}

function OneFigure({ label, figures }: { label: string; figures: WebhookStats['day'] }) {
  const t = useTexts()
  const { count, language } = useFormat()
  const { attempts, delivered, latencyP50Ms, latencyP95Ms } = figures
  return (
    <div>
      <Figure
        label={label}
        value={attempts === 0 ? '–' : shareText(delivered / attempts, language)}
        note={attempts === 0 ? t.none : t.delivered(count(delivered), count(attempts))}
      />
      {latencyP50Ms !== null && latencyP95Ms !== null && (
        <p className="figures text-sm text-soft">{t.latency(count(latencyP50Ms), count(latencyP95Ms))}</p>
      )}
    </div>
  )
}
