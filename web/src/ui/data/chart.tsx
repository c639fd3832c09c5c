import { lazyComponent } from '../lazy-component.tsx'
import { Skeleton } from '../page.tsx'
import type { ChartProps } from './chart-canvas.tsx'

const Canvas = lazyComponent(
  () => import('./chart-canvas.tsx'),
  'ChartCanvas',
  <Skeleton className="h-full w-full rounded-lg" />,
)
// Loaded together with a page that has charts, and not only once its figures are there.
void Canvas.preload()

/** Bars per day. The library loads beside the page, and the chart's place is kept meanwhile. */
export function Chart(props: ChartProps) {
  const height = props.height ?? 220
  return (
    <div style={{ height }}>
      <Canvas {...props} height={height} />
    </div>
  )
}
