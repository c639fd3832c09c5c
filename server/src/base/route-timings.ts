/**
 * How long answers took, as a histogram in Prometheus's format. prom-client joins the labels of each observation to
 * find its series, which costs more than all else about it. Here it takes two lookups.
 */
export type RouteTimings = {
  name: string
  labelNames: string[]
  observe(answer: { method: string; route: string; status: number; seconds: number }): void
  text(): string
}

type Series = { labels: string; counts: number[]; sum: number }

export function makeRouteTimings(name: string, help: string, bounds: number[]): RouteTimings {
  // By route, method, and hundred of the status. Routes and methods are names from the code, so there are few.
  const all = new Map<string, Map<string, Series[]>>()

  function seriesOf(method: string, route: string, hundred: number): Series {
    const byMethod = all.get(route) ?? new Map<string, Series[]>()
    const byHundred = byMethod.get(method) ?? []
    all.set(route, byMethod.set(method, byHundred))
    const labels = `method="${method}",route="${route}",status="${hundred}xx"`
    return (byHundred[hundred] = { labels, counts: Array<number>(bounds.length + 1).fill(0), sum: 0 })
  }

  return {
    name,
    labelNames: ['method', 'route', 'status'],
    observe({ method, route, status, seconds }) {
      const hundred = Math.floor(status / 100)
      const series = all.get(route)?.get(method)?.[hundred] ?? seriesOf(method, route, hundred)
      let bucket = 0
      while (bucket < bounds.length && seconds > bounds[bucket]!) bucket++
      series.counts[bucket]! += 1
      series.sum += seconds
    },
    text() {
      const series = [...all.values()].flatMap((byMethod) => [...byMethod.values()].flat())
      return `# HELP ${name} ${help}\n# TYPE ${name} histogram\n${series.map((one) => seriesText(name, bounds, one)).join('')}`
    },
  }
}

function seriesText(name: string, bounds: number[], { labels, counts, sum }: Series): string {
  let total = 0
  const buckets = counts.map((count, bucket) => {
    total += count
    return `${name}_bucket{le="${bounds[bucket] ?? '+Inf'}",${labels}} ${total}\n`
  })
  return `${buckets.join('')}${name}_sum{${labels}} ${sum}\n${name}_count{${labels}} ${total}\n`
}
