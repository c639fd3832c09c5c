import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../scripts/free-port.mjs'
import { startChild, temporaryHome } from './process.ts'
import { isInstalled } from './programs.ts'
import { until } from './world.ts'

// A real Prometheus, from Debian's package. Without one its tests are skipped and say so.

/** The reason to skip tests with Prometheus, or undefined if it is installed. */
export const NO_PROMETHEUS = isInstalled('prometheus')
  ? undefined
  : 'there is no prometheus on this machine: install it (apt-get install prometheus)'

export type Prometheus = {
  /** Names of the alerts that fire, each once, in order. */
  firing(): Promise<string[]>
  /** The first value of a query, if it has one. */
  query(expr: string): Promise<number | undefined>
  /** Whether any series of the last minutes matches. */
  hasSeries(selector: string): Promise<boolean>
}

/** Scrapes a service every two seconds, and evaluates the rules every second. It ends with the test. */
export async function startPrometheus(service: { url: string; token: string; rules: string }): Promise<Prometheus> {
  const directory = temporaryHome()
  const port = await freePort()
  const write = (name: string, text: string) => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const rules = write('rules.yaml', service.rules)
  const token = write('token', `${service.token}\n`)
  const config = write(
    'prometheus.yaml',
    `global: { scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 1s }
rule_files: [${rules}]
scrape_configs:
  - job_name: guiche
    authorization: { credentials_file: ${token} }
    static_configs: [{ targets: ['${new URL(service.url).host}'] }]
`,
  )
  const listen = `127.0.0.1:${port}`
  startChild(
    'prometheus',
    [`--config.file=${config}`, `--storage.tsdb.path=${join(directory, 'data')}`, `--web.listen-address=${listen}`],
    { stdio: 'ignore' },
  )
  const ask = async <Data>(path: string, parameters: Record<string, string> = {}) => {
    const answer = await fetch(`http://${listen}/api/v1/${path}?${new URLSearchParams(parameters).toString()}`)
    return ((await answer.json()) as { data: Data }).data
  }
  await until('Prometheus is ready', () =>
    fetch(`http://${listen}/-/ready`)
      .then(({ ok }) => ok)
      .catch(() => false),
  )
  return {
    async firing() {
      const { alerts } = await ask<{ alerts: { state: string; labels: { alertname: string } }[] }>('alerts')
      const names = alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname)
      return [...new Set(names)].toSorted()
    },
    async query(expr) {
      const { result } = await ask<{ result: { value: [number, string] }[] }>('query', { query: expr })
      return result[0] && Number(result[0].value[1])
    },
    hasSeries: async (selector) => (await ask<object[]>('series', { 'match[]': selector })).length > 0,
  }
}
