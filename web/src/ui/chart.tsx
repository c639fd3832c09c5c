import { lazy, Suspense } from 'react'
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

const Canvas = lazy(() => import('./chart-canvas.tsx'))

/** A chart over days. The library comes when a chart does, and its place is kept until then. */
export function Chart(props: ChartProps) {
  const height = props.height ?? 220
  return (
    <div style={{ height }}>
      <Suspense fallback={<Skeleton className="h-full w-full rounded-lg" />}>
        <Canvas {...props} height={height} />
      </Suspense>
    </div>
  )
}
