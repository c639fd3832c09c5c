import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { dayText } from '../../base/dates.ts'
import { useLanguage } from '../../base/language.ts'
import { useIsDark } from '../../base/theme.ts'

export type ChartProps = {
  /** What it shows and what stands out, for screen readers. */
  summary: string
  /** "2026-11-15", or what labelOf knows, oldest first. */
  days: readonly string[]
  /** `isShort`: for the axis. Without it, the days are dates. */
  labelOf?: (day: string, isShort: boolean) => string
  series: readonly {
    label: string
    values: readonly number[]
    tone?: 'accent' | 'edge'
  }[]
  /** Formats a value for the tooltip, and for the axis unless formatAxis is given. */
  format: (value: number) => string
  formatAxis?: (value: number) => string
  height: number
}

// Room for the widest label of the axis, and for labels of days.
const AXIS_WIDTH = 64
const AXIS_HEIGHT = 28
const DAY_WIDTH = 70

export function ChartCanvas({ summary, days, series, labelOf, format, formatAxis = format, height }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const language = useLanguage()
  const isDark = useIsDark()
  const [at, setAt] = useState<number | null>(null)
  const labelDay = labelOf ?? ((day: string, isShort: boolean) => dayText(day, language, { short: isShort }))
  const latest = useRef({ format, formatAxis, labelDay })
  latest.current = { format, formatAxis, labelDay }
  const content = JSON.stringify([days, series])

  useEffect(() => {
    const element = place.current
    if (!element) return
    const bars = uPlot.paths.bars?.({ size: [0.62, 40], radius: 0.15 })
    const style = getComputedStyle(document.documentElement)
    const color = (name: string) => style.getPropertyValue(`--color-${name}`).trim()
    const axis = { stroke: color('soft'), font: `12px ${style.getPropertyValue('--font-sans')}` }
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        padding: [8, 8, 0, 0],
        cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
        scales: {
          x: { time: false, range: [-0.6, days.length - 0.4] },
          y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
        },
        axes: [
          {
            ...axis,
            size: AXIS_HEIGHT,
            grid: { show: false },
            ticks: { show: false },
            space: DAY_WIDTH,
            incrs: [1, 2, 3, 5, 7, 10, 14, 30],
            values: (_, marks) => marks.map((mark) => (days[mark] ? latest.current.labelDay(days[mark], true) : '')),
          },
          {
            ...axis,
            size: AXIS_WIDTH,
            grid: { stroke: color('line'), width: 1 },
            ticks: { show: false },
            values: (_, marks) => marks.map((mark) => latest.current.formatAxis(mark)),
          },
        ],
        series: [
          {},
          ...series.map(({ label, tone = 'accent' }) => ({
            label,
            fill: color(tone),
            width: 0,
            points: { show: false },
            ...(bars && { paths: bars }),
          })),
        ],
        hooks: { setCursor: [(self) => setAt(self.cursor.idx ?? null)] },
      },
      [days.map((_, index) => index), ...series.map(({ values }) => [...values])],
      element,
    )
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      chart.destroy()
    }
    // `content` stands for days and series, which are new objects on each render.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [content, height, language, isDark])

  const day = at === null ? undefined : days[at]
  return (
    <div className="relative">
      <div ref={place} role="img" aria-label={summary} />
      {day !== undefined && at !== null && (
        <div
          aria-hidden="true"
          className={`pointer-events-none absolute top-0 z-10 rounded-lg border border-line bg-raised px-3 py-2 text-sm shadow-float ${at < days.length / 2 ? 'right-2' : 'left-18'}`}
        >
          <p className="font-semibold">{labelDay(day, false)}</p>
          {series.map(({ label, values }) => (
            <p key={label} className="figures flex justify-between gap-4 text-soft">
              {label}
              <span className="font-medium text-ink">{format(values[at] ?? 0)}</span>
            </p>
          ))}
        </div>
      )}
    </div>
  )
}
