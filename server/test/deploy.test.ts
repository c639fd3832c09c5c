import { execFile } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { makeMetrics, measureProcess } from '../src/base/metrics.ts'
import { loadConfig } from '../src/config/config.ts'
import { STOP_WITHIN_MS } from '../src/main.ts'
import { DEFAULT_TIMINGS } from '../src/providers/http/limits.ts'
import { temporaryHome } from './process.ts'
import { isInstalled } from './programs.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url))
const ROOT = join(DEPLOY, '..')
const read = (path: string) => readFileSync(join(DEPLOY, path), 'utf8')
const run = promisify(execFile)

// ---- Metrics in alert rules and in the dashboard ----

type Rule = { alert: string; expr: string; labels: { severity: string }; annotations: Record<string, string> }
type Panel = { type: string; title: string; description?: string; targets?: { expr: string }[] }

const rules = (parse(read('prometheus/alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
)
const dashboard = JSON.parse(read('grafana/guiche.json')) as {
  panels: Panel[]
  annotations: { list: { expr: string }[] }
  templating: { list: { query: string | { query: string } }[] }
}
const expressions = [
  ...rules.map(({ expr }) => expr),
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...dashboard.annotations.list.map(({ expr }) => expr),
  ...dashboard.templating.list.flatMap(({ query }) => (typeof query === 'string' ? [] : [query.query])),
]

const RULE_TESTS = ['alerts.test.yaml', 'alerts-slow.test.yaml']
const series = existingSeries()
// Prometheus and its operator add these to every series; `le` is the bound of a bucket.
const ADDED_LABELS = ['job', 'instance', 'le']

test('alert rules and dashboard use only metrics and labels that exist', () => {
  expect(series.get('guiche_provider_call_duration_seconds_bucket')).toContain('operation')
  expect(expressions.flatMap(unknownIn)).toEqual([])
})

test.each([
  ['a metric', 'rate(guiche_deposit_total[5m])', ['guiche_deposit_total']],
  ['the bucket of a counter', 'rate(guiche_deposits_total_bucket[5m])', ['guiche_deposits_total_bucket']],
  [
    'a histogram without its part',
    'guiche_webhook_attempt_duration_seconds',
    ['guiche_webhook_attempt_duration_seconds'],
  ],
  ['a metric of the process', 'process_cpu_total > 1', ['process_cpu_total']],
  ['a label in braces', 'guiche_provider_up{bank="a"}', ['guiche_provider_up{bank}']],
])('%s that does not exist is noticed', (_, expr, found) => {
  expect(unknownIn(expr)).toEqual(found)
})

test('every metric of ours is on the dashboard or in a rule', () => {
  const used = expressions.join('\n')
  const names = [...series.keys()].filter((name) => name.startsWith('guiche_'))
  const bare = new Set(names.map((name) => name.replace(/_(bucket|sum|count)$/, '')))
  expect([...bare].filter((name) => !used.includes(name))).toEqual([])
})

test('every alert says how urgent it is, what happened and what to do, and has a test of its own', () => {
  const tested = RULE_TESTS.map((name) => read(`prometheus/${name}`)).join()
  const isWhole = ({ alert, labels, annotations }: Rule) =>
    ['page', 'ticket'].includes(labels.severity) &&
    Object.keys(annotations).join() === 'summary,action' &&
    tested.includes(`labels: '{alertname="${alert}"`)
  expect(rules.filter((rule) => !isWhole(rule)).map(({ alert }) => alert)).toEqual([])
})

test.skipIf(!isInstalled('promtool'))('promtool accepts the alert rules, and their unit tests pass', async () => {
  const cwd = join(DEPLOY, 'prometheus')
  expect((await run('promtool', ['check', 'rules', 'alerts.yaml'], { cwd })).stdout).toContain(`${rules.length} rules`)
  await run('promtool', ['test', 'rules', ...RULE_TESTS], { cwd })
})

test('the dashboard has a row for each part, and its page describes each panel', () => {
  const rows = dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title)
  expect(rows).toEqual(['Money', 'Requests', 'Providers', 'Webhooks', 'Queues and database', 'Processes'])
  const page = read('grafana/README.md')
  for (const { type, title, description } of dashboard.panels)
    expect(page).toContain(type === 'row' ? `\n## ${title}\n` : `\n| ${title} | ${description} | \``)
})

/** Names as Prometheus stores them, with their labels. */
function existingSeries(): Map<string, string[]> {
  const metrics = makeMetrics()
  measureProcess(metrics)
  const made = metrics.registry.getMetricsAsArray() as unknown as {
    name: string
    labelNames?: string[]
    type?: string
  }[]
  return new Map(
    made.flatMap(({ name, labelNames = [], type, ...rest }) => {
      const parts = type === 'histogram' || 'buckets' in rest ? ['_bucket', '_sum', '_count'] : ['']
      return parts.map((part): [string, string[]] => [`${name}${part}`, labelNames])
    }),
  )
}

function unknownIn(expr: string): string[] {
  return [...expr.matchAll(/\b((?:guiche|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].flatMap(
    ([, name = '', matchers = '']) => {
      const known = series.get(name)
      if (!known) return [name]
      const asked = [...matchers.matchAll(/(\w+)\s*(?:=|!=|=~|!~)\s*"/g)].map(([, label]) => label!)
      return asked.filter((label) => ![...known, ...ADDED_LABELS].includes(label)).map((label) => `${name}{${label}}`)
    },
  )
}

// ---- The image ----

const dockerfile = read('docker/Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
const instructions = (word: string) => dockerfile.filter((line) => line.startsWith(`${word} `))

test('the image is built from exact versions by the lockfile, and runs as a user that is not root', () => {
  for (const line of instructions('FROM'))
    expect(line).toMatch(/^FROM (node:\d+\.\d+\.\d+-bookworm-slim|manifests)( AS \w+)?$/)
  for (const line of dockerfile) expect(line).not.toMatch(/npm (install|i) |curl|wget|:latest|^ADD /)
  for (const line of instructions('RUN')) if (line.includes(' npm ')) expect(line).toContain('npm ci --ignore-scripts')
  expect(instructions('USER')).toEqual(['USER 1000:1000'])
  expect(dockerfile.findLastIndex((line) => line.startsWith('RUN '))).toBeLessThan(dockerfile.indexOf('USER 1000:1000'))
  expect(instructions('HEALTHCHECK').join()).toContain('CMD ["node", "/opt/guiche/healthcheck.mjs", "/livez"]')
})

test('the image holds all that a package of the server holds', () => {
  const { files } = JSON.parse(readFileSync(join(ROOT, 'server/package.json'), 'utf8')) as { files: string[] }
  const copied = instructions('COPY').join('\n')
  // The image takes its dependencies from the workspace's lockfile.
  const run = [...files, 'package.json'].filter((path) => path !== 'npm-shrinkwrap.json')
  for (const path of run) expect(copied).toContain(`--from=build /src/server/${path} server/`)
})

test('all that the Dockerfile copies from the checkout is there, and sent to the builder', () => {
  const sent = read('docker/Dockerfile.dockerignore')
    .match(/^!.*$/gm)!
    .map((line) => line.slice(1))
  const sources = instructions('COPY')
    .filter((line) => !line.includes('--from='))
    .flatMap((line) => line.split(' ').slice(1, -1))
  expect(sources).toContain('server/package.json')
  expect(sources.filter((source) => !existsSync(join(ROOT, source)))).toEqual([])
  const isSent = (source: string) => sent.some((path) => source === path || source.startsWith(`${path}/`))
  expect(sources.filter((source) => !isSent(source))).toEqual([])
})

test('the health check passes on 200, and fails on 503 and when nobody listens', async () => {
  const server = createServer((request, response) => {
    response.writeHead(request.url === '/livez' ? 200 : 503).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const check = (path: string) =>
    run(process.execPath, [join(DEPLOY, 'docker/healthcheck.mjs'), path], { env: { PORT: String(port) } })
  await check('/livez')
  await expect(check('/readyz')).rejects.toMatchObject({ code: 1 })
  await new Promise((resolve) => server.close(resolve))
  await expect(check('/livez')).rejects.toMatchObject({ code: 1 })
})

// ---- Compose ----

test('compose keeps secrets in files, the root file system read-only, and waits for a healthy database', () => {
  const { services, secrets, volumes } = parse(read('docker/compose.yaml'), { merge: true })
  const { guiche, postgres } = services
  expect(guiche).toMatchObject({
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    ports: ['127.0.0.1:3000:3000'],
    depends_on: { postgres: { condition: 'service_healthy' } },
    secrets: [{ source: 'guiche_env', target: '/etc/guiche/.env' }],
  })
  expect(guiche.environment).toBeUndefined()
  expect(JSON.stringify(postgres.environment)).not.toMatch(/PASSWORD"/)
  expect(postgres.image).toMatch(/^postgres:\d+\.\d+-bookworm$/)
  expect(postgres.healthcheck.test).toContain('pg_isready')
  expect(Object.keys(secrets)).toEqual(['guiche_env', 'postgres_password', 'guiche_password'])
  expect(Object.keys(volumes)).toEqual(['guiche-home', 'postgres-data'])
})

test('the role that compose gives the service owns its database and is no superuser', async () => {
  const { services } = parse(read('docker/compose.yaml'), { merge: true })
  const { postgres } = services
  expect(postgres.environment.POSTGRES_USER).toBe('postgres')
  expect(postgres.volumes).toContain('./create-role.sh:/docker-entrypoint-initdb.d/create-role.sh:ro')
  // A fake psql prints the SQL that the script sends.
  const folder = temporaryHome()
  writeFileSync(join(folder, 'psql'), '#!/bin/sh\necho "$@"; cat\n', { mode: 0o755 })
  writeFileSync(join(folder, 'cat-secret'), 'the password')
  const script = read('docker/create-role.sh').replace('/run/secrets/guiche_password', join(folder, 'cat-secret'))
  const { stdout } = await run('sh', ['-c', script], {
    env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
  })
  expect(stdout).toContain('--username postgres')
  expect(stdout).toContain('password=the password')
  expect(stdout).toMatch(/create role guiche login nosuperuser nocreatedb nocreaterole .*password :'password';/)
  expect(stdout).toContain('create database guiche owner guiche;')
  expect(stdout.toLowerCase()).not.toMatch(/\bsuperuser\b|\bpg_(read|write|execute)_/)
})

test('the worker that compose has as a comment is guiche in all but its role and its port', () => {
  const text = read('docker/compose.yaml').replaceAll(/^ {2}# (guiche-worker:| {2}.*)$/gm, '  $1')
  const { services } = parse(text, { merge: true }) as { services: Record<string, object> }
  expect(services['guiche-worker']).toEqual({
    ...services['guiche'],
    command: ['start', '--role', 'worker'],
    ports: [],
  })
})

test('the script makes secrets that guiche accepts, with one password on both sides, and never replaces them', async () => {
  const folder = temporaryHome()
  const script = join(folder, 'make-secrets.sh')
  cpSync(join(DEPLOY, 'docker/make-secrets.sh'), script)
  await run('sh', [script])
  const settings = readFileSync(join(folder, 'secrets/guiche.env'), 'utf8')
  const env = Object.fromEntries([...settings.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]))
  const config = loadConfig(env)
  expect(config.warnings).toEqual([])
  const { mode, uid } = statSync(join(folder, 'secrets/guiche.env'))
  // If another user owns the file, its folder is closed to others.
  if (uid === 1000) expect(mode & 0o077).toBe(0)
  expect(statSync(join(folder, 'secrets')).mode & 0o077).toBe(0)
  const { username, password } = new URL(config.databaseUrl!)
  expect([username, password]).toEqual(['guiche', readFileSync(join(folder, 'secrets/guiche-password'), 'utf8')])
  expect(readFileSync(join(folder, 'secrets/postgres-password'), 'utf8')).not.toBe(password)
  for (const name of ['SECRET_KEY', 'METRICS_TOKEN']) expect(env[name]).toMatch(/^[0-9a-f]{64}$/)
  await expect(run('sh', [script])).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('already') })
})

// ---- Stop times and settings ----

// The drain is 0 seconds unless set. The chart, which sets it, is in deploy-chart.test.ts.
test('whatever stops the service waits for longer than its longest deposit takes', () => {
  const deadlineMs = DEFAULT_TIMINGS.createDeadlineMs
  // In the longest deposit, one provider fails at its deadline and the charge is withdrawn there. Then the next one
  // makes it.
  expect(STOP_WITHIN_MS).toBeGreaterThan(deadlineMs + DEFAULT_TIMINGS.cancelDeadlineMs + deadlineMs)
  const unit = /^TimeoutStopSec=(\d+)s$/m.exec(read('systemd/guiche.service'))![1]
  const { services } = parse(read('docker/compose.yaml'), { merge: true })
  const grace = /^(\d+)s$/.exec(services.guiche.stop_grace_period)![1]
  for (const seconds of [unit, grace]) expect(Number(seconds) * 1000).toBeGreaterThan(STOP_WITHIN_MS)
})

test('the variables in the chart and in the units are ones that guiche reads', () => {
  const { config } = parse(read('helm/guiche/values.yaml')) as { config: Record<string, string> }
  const units = readdirSync(join(DEPLOY, 'systemd')).map((name) => read(`systemd/${name}`))
  const set = units.flatMap((unit) => [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, all]) => all!.split(' ')))
  const names = [...Object.keys(config), 'DRAIN_SECONDS', ...set.map((pair) => pair.split('=')[0]!)]
  const documented = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8')
  const unknown = names.filter((name) => name !== 'NODE_ENV' && !documented.includes(`| \`${name}\` |`))
  expect(unknown).toEqual([])
})
