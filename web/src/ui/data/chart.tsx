import { useEffect, useRef, useState } from 'react'
import { lazyComponent } from '../lazy-component.tsx'
import { Skeleton } from '../page.tsx'
import type { ChartProps } from './chart-canvas.tsx'

const PLACE = <Skeleton className="h-full w-full rounded-lg" />
const Canvas = lazyComponent(() => import('./chart-canvas.tsx'), 'ChartCanvas', PLACE)

export const CHART_HEIGHT = 220
/** Less than a quick scroll takes while the library loads. */
const AHEAD = '300px'

/**
 * Bars per day. The chart's place is kept until it is near the screen: on a phone the library is an eighth of the page,
 * and the charts are below what is seen first.
 */
export function Chart(props: Omit<ChartProps, 'height'>) {
  const place = useRef<HTMLDivElement>(null)
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => setNear((wasNear) => wasNear || entries.some(({ isIntersecting }) => isIntersecting)),
      { rootMargin: AHEAD },
    )
    if (place.current) observer.observe(place.current)
    const show = () => setNear(true)
    addEventListener('beforeprint', show)
    return () => {
      observer.disconnect()
      removeEventListener('beforeprint', show)
    }
  }, [])
  return (
    <div ref={place} style={{ height: CHART_HEIGHT }}>
      {isNear ? <Canvas {...props} height={CHART_HEIGHT} /> : PLACE}
    </div>
  )
}
