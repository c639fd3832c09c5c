import { useFormat } from '../../base/format.ts'
import { translations, useLanguage, type Language } from '../../base/language.ts'
import { shareText } from '../../base/money.ts'
import { useGet } from '../../base/queries.ts'
import type { Health, HealthLine } from '../../contract/types.ts'
import { Badge } from '../../ui/badge.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Card, Page, Skeleton } from '../../ui/page.tsx'
import { useHealthTexts, useLineTitle } from './health-texts.ts'

const useTexts = translations({
  title: ['Saúde', 'Health'],
  text: [
    'O que as métricas dizem, com os limites dos alertas. O que fazer em cada caso está em docs/operations.md, “Health”.',
    'What the metrics tell, with the bounds of the alerts. What to do in each case is in docs/operations.md, “Health”.',
  ],
  overall: {
    green: ['Tudo em ordem', 'Everything is in order'],
    yellow: ['Em ordem, com pontos a ver', 'In order, with something to look at'],
    red: ['Algo precisa de ação agora', 'Something needs action now'],
  },
  readAt: ['Lido', 'Read'],
  every: ['Atualiza-se a cada 10 segundos.', 'Refreshes every 10 seconds.'],
  level: {
    green: ['Em ordem', 'In order'],
    yellow: ['Atenção', 'Attention'],
    red: ['Agir agora', 'Act now'],
  },
  area: {
    money: ['Dinheiro', 'Money'],
    providers: ['Provedores', 'Providers'],
    queues: ['Filas', 'Queues'],
    workers: ['Trabalhos', 'Jobs'],
    database: ['Banco de dados', 'Database'],
    history: ['Histórico', 'History'],
    processes: ['Processos', 'Processes'],
  },
  bound: (bound: string) => [`limite ${bound}`, `bound ${bound}`],
  alert: (name: string) => [`Alerta ${name}.`, `Alert ${name}.`],
  unknown: ['ainda nada', 'nothing yet'],
  yes: ['Sim', 'Yes'],
  no: ['Não', 'No'],
  items: (count: string) => [`${count} na fila`, `${count} waiting`],
  connections: (inUse: string, max: string) => [`${inUse} de ${max} conexões`, `${inUse} of ${max} connections`],
})

/** Operators have no stream: each is the history of one account. */
const REFRESH_MS = 10_000
const TONES = { green: 'good', yellow: 'wait', red: 'bad' } as const
const AREAS = ['money', 'providers', 'queues', 'workers', 'database', 'history', 'processes'] as const

export function HealthPage() {
  const t = useTexts()
  const health = useGet<Health>(['health'], '/operator/health', { refetchInterval: REFRESH_MS })
  const { data } = health
  return (
    <Page title={t.title} text={t.text} query={health}>
      {data ? (
        <div className="space-y-2">
          <Notice tone={TONES[data.level]} title={t.overall[data.level]} />
          <p className="text-sm text-soft">
            {t.readAt} <DateTime at={data.at} relative />. {t.every}
          </p>
        </div>
      ) : (
        <Skeleton className="h-20 w-full" />
      )}
      <div className="gap-6 space-y-6 lg:columns-2">
        {AREAS.filter((area) => !data || data.lines.some((line) => line.area === area)).map((area) => (
          <Card key={area} title={t.area[area]} className="break-inside-avoid">
            {data ? (
              <Lines lines={data.lines.filter((line) => line.area === area)} />
            ) : (
              <Skeleton className="h-32 w-full" />
            )}
            {data && area === 'processes' && <Processes processes={data.processes} />}
          </Card>
        ))}
      </div>
    </Page>
  )
}

function Lines({ lines }: { lines: readonly HealthLine[] }) {
  return (
    <ul className="divide-y divide-line">
      {lines.map((line) => (
        <Line key={`${line.check} ${line.subject}`} line={line} />
      ))}
    </ul>
  )
}

function Line({ line }: { line: HealthLine }) {
  const t = useTexts()
  const texts = useHealthTexts()
  const titleOf = useLineTitle()
  const valueOf = useValue()
  const { level, value, bound, unit, count, alert, detail } = line
  const notes = [
    value !== null && bound !== null && unit !== 'state' && t.bound(valueOf({ ...line, value: bound })),
    count !== null && unit === 'seconds' && count > 0 && line.area === 'queues' && t.items(String(count)),
  ].filter((note) => note !== false)
  return (
    <li className="py-2.5 first:pt-0 last:pb-0">
      <div className="flex items-start justify-between gap-4">
        <p className="min-w-0 wrap-anywhere">{titleOf(line)}</p>
        <div className="flex shrink-0 flex-col items-end gap-0.5 sm:flex-row sm:items-center sm:gap-3">
          <span className="figures text-right font-medium">
            {valueOf(line)}
            {notes.length > 0 && <span className="block text-sm font-normal text-soft">{notes.join(', ')}</span>}
          </span>
          {(bound !== null || level !== 'green') && <Badge tone={TONES[level]}>{t.level[level]}</Badge>}
        </div>
      </div>
      {level !== 'green' && (
        <p className="mt-1 text-sm text-soft wrap-anywhere">
          {texts[line.check].act} {alert && t.alert(alert)}
          {detail && <code className="mt-1 block font-mono text-[0.8125rem]">{detail}</code>}
        </p>
      )}
    </li>
  )
}

function useValue(): (line: Pick<HealthLine, 'unit' | 'value'>) => string {
  const t = useTexts()
  const language = useLanguage()
  const { money, count } = useFormat()
  return ({ unit, value }) => {
    if (value === null) return t.unknown
    switch (unit) {
      case 'cents':
        return money(value)
      case 'seconds':
        return spanText(value, language)
      case 'bytes':
        return bytesText(value, language)
      case 'share':
        return shareText(value, language)
      case 'state':
        return value === 1 ? t.yes : t.no
      case 'count':
        return count(value)
    }
  }
}

const SPANS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

/** "3 h": whole units, the largest that fits twice, or just; below a second in milliseconds. */
function spanText(seconds: number, language: Language): string {
  const [unit, size] = SPANS.find(([, least]) => Math.abs(seconds) >= 2 * least || seconds === least) ?? ['second', 1]
  if (unit === 'second' && seconds > 0 && seconds < 1)
    return unitText(Math.round(seconds * 1000), 'millisecond', language)
  return unitText(Math.round(seconds / size), unit, language)
}

const SIZES = [
  ['gigabyte', 1e9],
  ['megabyte', 1e6],
] as const

function bytesText(bytes: number, language: Language): string {
  const [unit, size] = SIZES.find(([, least]) => bytes >= least) ?? ['kilobyte', 1e3]
  return unitText(Math.round((bytes / size) * 10) / 10, unit, language)
}

function unitText(value: number, unit: string, language: Language): string {
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short' }).format(value)
}

function Processes({ processes }: { processes: Health['processes'] }) {
  const t = useTexts()
  const { count } = useFormat()
  return (
    <ul className="mt-2.5 divide-y divide-line border-t border-line empty:hidden">
      {processes.map(({ role, host, version, startedAt, pool }) => (
        <li key={host + startedAt} className="py-2.5 last:pb-0">
          <p className="wrap-anywhere">
            {host} · {role} · {version}
          </p>
          <p className="figures text-sm text-soft">
            <DateTime at={startedAt} relative />
            {pool && `, ${t.connections(count(pool.inUse), count(pool.max))}`}
          </p>
        </li>
      ))}
    </ul>
  )
}
