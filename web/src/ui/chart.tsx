import { late } from '../base/late.ts'
import { Skeleton } from './skeleton.tsx'

export type ChartProps = {
  /** What it shows and what stands out, for whoever does not see it. */
  summary: string
  /** Days, "2026-11-15", oldest first. */
  days: readonly string[]
  series: readonly {
    label: string
    values: readonly number[]
    kind: 'bars' | 'line'
    tone?: 'accent' | 'mark' | 'soft' | 'edge'
  }[]
  /** Of a value, on the axis and under the pointer. */
  format: (value: number) => string
  formatAxis?: (value: number) => string
  height?: number
}

// Asked for with the page that shows charts, and not first when their figures are there.
const canvas = import('./chart-canvas.tsx').then((module) => module.ChartCanvas)
const Canvas = late(() => canvas, <Skeleton className="h-full w-full rounded-lg" />)

/** A chart over days. The library comes beside the page, and the chart's place is kept until then. */
export function Chart(props: ChartProps) {
  const height = props.height ?? 220
  return (
    <div style={{ height }}>
      <Canvas {...props} height={height} />
    </div>
  )
}
