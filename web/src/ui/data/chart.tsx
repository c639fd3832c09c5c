import { lazyComponent } from '../lazy-component.tsx'
import { Skeleton } from '../page.tsx'
import type { ChartProps } from './chart-canvas.tsx'

const Canvas = lazyComponent(
  () => import('./chart-canvas.tsx'),
  'ChartCanvas',
  <Skeleton className="h-full w-full rounded-lg" />,
)
// The library loads together with a page that has charts, and not only once its figures are there.
void Canvas.preload()

export const CHART_HEIGHT = 220

/** Bars per day. The library loads beside the page, and the chart's place is kept meanwhile. */
export function Chart(props: Omit<ChartProps, 'height'>) {
  return (
    <div style={{ height: CHART_HEIGHT }}>
      <Canvas {...props} height={CHART_HEIGHT} />
    </div>
  )
}
