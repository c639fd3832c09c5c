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
import { VERSION } from '../src/base/version.ts'
import { loadConfig } from '../src/config.ts'
import { STOP_WITHIN_MS } from '../src/main.ts'
import { DEFAULT_TIMINGS } from '../src/providers/http/limits.ts'
import { renderChart, type Manifest } from './chart.ts'
import { temporaryHome } from './process.ts'
import { isInstalled } from './programs.ts'

const DEPLOY = fileURLToPath(new URL('../../deploy', import.meta.url))
const ROOT = join(DEPLOY, '..')
const CHART = join(DEPLOY, 'helm/guiche')
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
  const { httpSeconds } = metrics
  const timed = { name: httpSeconds.name, labelNames: httpSeconds.labelNames, type: 'histogram' }
  return new Map(
    [...made, timed].flatMap(({ name, labelNames = [], type, ...rest }) => {
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
  // The dependencies of the image come from the lockfile of the workspace.
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
  // Of the user of the container, or of somebody whose folder is closed to others.
  if (uid === 1000) expect(mode & 0o077).toBe(0)
  expect(statSync(join(folder, 'secrets')).mode & 0o077).toBe(0)
  const { username, password } = new URL(config.databaseUrl!)
  expect([username, password]).toEqual(['guiche', readFileSync(join(folder, 'secrets/guiche-password'), 'utf8')])
  expect(readFileSync(join(folder, 'secrets/postgres-password'), 'utf8')).not.toBe(password)
  for (const name of ['SECRET_KEY', 'METRICS_TOKEN']) expect(env[name]).toMatch(/^[0-9a-f]{64}$/)
  await expect(run('sh', [script])).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('already') })
})

// ---- The chart ----

const WANTED = {
  existingSecret: 'guiche-secrets',
  config: { PUBLIC_URL: 'https://pay.example.com', PROVIDERS: 'mybank' },
}
const ALL_ON = {
  ...WANTED,
  certificatesSecret: 'bank-certificates',
  podAnnotations: { team: 'payments' },
  ingress: { enabled: true, annotations: { a: 'b' } },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  networkPolicy: { enabled: true },
}
const BACKED_UP = { ...WANTED, backup: { enabled: true, claim: 'dumps' } }
const SPLIT = { ...ALL_ON, roles: { split: true, worker: { replicas: 3 } } }
const ofKind = (manifests: Manifest[], kind: string, name = 'shop') =>
  manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name.startsWith(name))!

test('the chart renders what is needed, and the rest when it is switched on', () => {
  const kinds = (values: object) =>
    renderChart(CHART, { ...values })
      .map(({ kind }) => kind)
      .toSorted()
  const always = ['ConfigMap', 'CronJob', 'Deployment', 'PodDisruptionBudget', 'Service']
  expect(kinds(WANTED)).toEqual(always)
  expect(kinds(ALL_ON)).toEqual([...always, 'Ingress', 'NetworkPolicy', 'ServiceMonitor'].toSorted())
  expect(kinds({ ...WANTED, roles: { split: true } })).toEqual([...always, 'Deployment', 'Service'].toSorted())
  expect(kinds({ ...WANTED, audit: { enabled: false } })).not.toContain('CronJob')
  expect(kinds(BACKED_UP)).toEqual([...always, 'CronJob'].toSorted())
})

test('the chart refuses to render without a secret, a public URL or providers, and says what to set', () => {
  expect(() => renderChart(CHART, { existingSecret: 'a' })).toThrow('config.PUBLIC_URL must be set')
  expect(() => renderChart(CHART, { ...WANTED, existingSecret: '' })).toThrow('existingSecret must name a Secret')
  expect(() => renderChart(CHART, { ...WANTED, config: { PUBLIC_URL: 'https://a.example' } })).toThrow(
    'config.PROVIDERS',
  )
})

test.each([
  ['Deployment', 'shop', WANTED],
  ['Deployment', 'shop', ALL_ON],
  ['Deployment', 'shop-worker', SPLIT],
  ['Deployment', 'shop', { ...ALL_ON, secretsAsFiles: true }],
  ['CronJob', 'shop-audit', ALL_ON],
  ['CronJob', 'shop-backup', { ...ALL_ON, ...BACKED_UP }],
])('the pods of the %s %s meet the restricted standard of Kubernetes', (kind, name, values) => {
  const { spec } = ofKind(renderChart(CHART, values), kind, name) as { spec: PodOwner }
  const pod = (spec.jobTemplate?.spec ?? spec).template!.spec
  expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } })
  expect(pod.automountServiceAccountToken).toBe(false)
  for (const { securityContext, volumeMounts } of pod.containers) {
    expect(securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(volumeMounts.map(({ name }) => name)).toEqual(pod.volumes.map(({ name }) => name))
  }
})

type PodOwner = {
  jobTemplate?: { spec: PodOwner }
  template?: {
    spec: {
      securityContext: object
      automountServiceAccountToken: boolean
      terminationGracePeriodSeconds: number
      containers: { args: string[]; securityContext: object; volumeMounts: { name: string }[] }[]
      volumes: { name: string }[]
    }
  }
}

test('a pod is asked at the right paths, and has time to migrate, to drain and to finish', () => {
  const manifests = renderChart(CHART, { ...ALL_ON, drainSeconds: 25 })
  expect(ofKind(manifests, 'ConfigMap')['data']).toMatchObject({
    DRAIN_SECONDS: '25',
    PROVIDERS: 'mybank',
    TRUST_PROXY: 'true',
  })
  expect(ofKind(manifests, 'Deployment').spec).toMatchObject({
    replicas: 2,
    strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    template: {
      metadata: { annotations: { 'checksum/config': expect.stringMatching(/^[0-9a-f]{64}$/), team: 'payments' } },
      spec: {
        terminationGracePeriodSeconds: 70,
        topologySpreadConstraints: [
          { topologyKey: 'topology.kubernetes.io/zone' },
          { topologyKey: 'kubernetes.io/hostname' },
        ],
        containers: [
          {
            image: `registry.example.com/guiche:${VERSION}`,
            envFrom: [{ configMapRef: { name: 'shop' } }, { secretRef: { name: 'guiche-secrets' } }],
            startupProbe: { httpGet: { path: '/livez' }, periodSeconds: 2, failureThreshold: 600 },
            livenessProbe: { httpGet: { path: '/livez' } },
            readinessProbe: { httpGet: { path: '/readyz' } },
          },
        ],
      },
    },
  })
})

// The drain is 0 seconds unless set, and the chart sets 10.
test('whatever stops the service waits for longer than its longest deposit takes', () => {
  const deadlineMs = DEFAULT_TIMINGS.createDeadlineMs
  // One provider fails at its deadline, the charge is withdrawn there, and the next one makes it.
  expect(STOP_WITHIN_MS).toBeGreaterThan(deadlineMs + DEFAULT_TIMINGS.cancelDeadlineMs + deadlineMs)
  const unit = /^TimeoutStopSec=(\d+)s$/m.exec(read('systemd/guiche.service'))![1]
  const { services } = parse(read('docker/compose.yaml'), { merge: true })
  const grace = /^(\d+)s$/.exec(services.guiche.stop_grace_period)![1]
  const manifests = renderChart(CHART, { ...SPLIT, drainSeconds: 0 })
  const pods = ['shop', 'shop-worker'].map((name) => {
    const { spec } = ofKind(manifests, 'Deployment', name) as { spec: PodOwner }
    return spec.template!.spec.terminationGracePeriodSeconds
  })
  for (const seconds of [unit, grace, ...pods]) expect(Number(seconds) * 1000).toBeGreaterThan(STOP_WITHIN_MS)
})

test('with secretsAsFiles the pods get files that their group alone reads, and no variables', () => {
  const path = '/etc/guiche/secrets'
  const manifests = renderChart(CHART, { ...ALL_ON, secretsAsFiles: true })
  const { template } = ofKind(manifests, 'Deployment').spec as { template: object }
  expect(template).toMatchObject({
    spec: {
      containers: [
        {
          envFrom: [{ configMapRef: { name: 'shop' } }],
          volumeMounts: expect.arrayContaining([{ name: 'secrets', mountPath: path, readOnly: true }]),
        },
      ],
      volumes: expect.arrayContaining([
        { name: 'secrets', secret: { secretName: 'guiche-secrets', defaultMode: 0o440 } },
      ]),
    },
  })
})

test('Prometheus scrapes the pods with the METRICS_TOKEN that they read', () => {
  const { endpoints } = ofKind(renderChart(CHART, ALL_ON), 'ServiceMonitor').spec as { endpoints: object[] }
  const credentials = { name: 'guiche-secrets', key: 'METRICS_TOKEN' }
  expect(endpoints).toMatchObject([{ path: '/metrics', authorization: { type: 'Bearer', credentials } }])
})

const labelsOf = (name: string) => ({ 'app.kubernetes.io/name': name, 'app.kubernetes.io/instance': 'shop' })

test('everything that selects pods selects those of the Deployments, and the audit is not among them', () => {
  const manifests = renderChart(CHART, SPLIT)
  const audit = ofKind(manifests, 'CronJob').spec as { jobTemplate: { spec: { template: object } } }
  expect(audit.jobTemplate.spec.template).toMatchObject({ metadata: { labels: labelsOf('guiche-audit') } })
  for (const [kind, field] of [
    ['PodDisruptionBudget', 'selector'],
    ['NetworkPolicy', 'podSelector'],
    ['ServiceMonitor', 'selector'],
  ] as const) {
    const selector = ofKind(manifests, kind).spec[field] as Selector
    const selected = ['guiche', 'guiche-worker', 'guiche-audit'].filter((name) => selects(selector, labelsOf(name)))
    expect([kind, selected]).toEqual([kind, ['guiche', 'guiche-worker']])
  }
})

test('by default every pod does everything; with split roles only some answer requests, and the others do what is due', () => {
  const container = (manifests: Manifest[], name: string) =>
    (ofKind(manifests, 'Deployment', name).spec as PodOwner).template!.spec.containers[0]!
  const whole = renderChart(CHART, ALL_ON)
  expect(container(whole, 'shop')).toMatchObject({ args: ['start', '--role', 'all'] })

  const split = renderChart(CHART, SPLIT)
  const { args: answering, ...api } = container(split, 'shop')
  const { args: working, ...worker } = container(split, 'shop-worker')
  expect([answering, working]).toEqual([
    ['start', '--role', 'api'],
    ['start', '--role', 'worker'],
  ])
  // Settings, secrets, probes and rights are the same.
  expect(worker).toEqual(api)
  expect(ofKind(split, 'Deployment', 'shop-worker').spec).toMatchObject({
    replicas: 3,
    selector: { matchLabels: labelsOf('guiche-worker') },
    template: { metadata: { labels: labelsOf('guiche-worker') }, spec: { terminationGracePeriodSeconds: 55 } },
  })
  expect(ofKind(split, 'Deployment').spec).toMatchObject({
    replicas: 2,
    selector: { matchLabels: labelsOf('guiche') },
    template: { metadata: { labels: labelsOf('guiche') } },
  })
  expect(ofKind(split, 'Service').spec['selector']).toEqual(labelsOf('guiche'))
  expect(ofKind(split, 'Service', 'shop-worker').spec).toMatchObject({
    clusterIP: 'None',
    selector: labelsOf('guiche-worker'),
  })
})

type Selector = {
  matchLabels: Record<string, string>
  matchExpressions?: { key: string; operator: 'In'; values: string[] }[]
}

/** As Kubernetes decides it. */
function selects({ matchLabels, matchExpressions = [] }: Selector, labels: Record<string, string>): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values }) => operator === 'In' && values.includes(labels[key]!))
  )
}

test('the backup of the chart dumps the database of the service, and deletes all but the last dumps', async () => {
  expect(() => renderChart(CHART, { ...WANTED, backup: { enabled: true } })).toThrow('backup.claim must name')
  const { spec } = ofKind(renderChart(CHART, BACKED_UP), 'CronJob', 'shop-backup') as { spec: PodOwner }
  const { containers, volumes } = spec.jobTemplate!.spec.template!.spec
  const [backup] = containers
  expect(backup).toMatchObject({
    envFrom: [{ configMapRef: { name: 'shop' } }, { secretRef: { name: 'guiche-secrets' } }],
    env: [{ name: 'KEEP', value: '14' }],
    volumeMounts: [{ name: 'tmp' }, { name: 'backups', mountPath: '/backups' }],
  })
  expect(volumes.at(-1)).toEqual({ name: 'backups', persistentVolumeClaim: { claimName: 'dumps' } })

  const folder = temporaryHome()
  const programs = temporaryHome()
  writeFileSync(join(programs, 'pg_dump'), '#!/bin/sh\n[ "$3" = postgresql://a ] && echo dump >"${2#--file=}"\n', {
    mode: 0o755,
  })
  for (const name of ['guiche-20260101T030000Z.dump', 'guiche-20260102T030000Z.dump', 'other'])
    writeFileSync(join(folder, name), '')
  const script = backup!.args[0]!.replace('/backups', folder)
  const env = { PATH: `${programs}:${process.env['PATH']}`, DATABASE_URL: 'postgresql://a', KEEP: '2' }
  await run('sh', ['-ec', script], { env })
  const names = readdirSync(folder).toSorted()
  expect(names).toEqual(['guiche-20260102T030000Z.dump', expect.stringMatching(/^guiche-\d{8}T\d{6}Z\.dump$/), 'other'])
  await expect(run('sh', ['-ec', script], { env: { ...env, DATABASE_URL: 'postgresql://b' } })).rejects.toMatchObject({
    code: 1,
  })
  expect(readdirSync(folder).toSorted()).toEqual(names)
})

test('the variables in the chart and in the units are ones that guiche reads', () => {
  const { config } = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as { config: Record<string, string> }
  const units = readdirSync(join(DEPLOY, 'systemd')).map((name) => read(`systemd/${name}`))
  const set = units.flatMap((unit) => [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, all]) => all!.split(' ')))
  const names = [...Object.keys(config), 'DRAIN_SECONDS', ...set.map((pair) => pair.split('=')[0]!)]
  const documented = readFileSync(join(ROOT, 'docs/configuration.md'), 'utf8')
  const unknown = names.filter((name) => name !== 'NODE_ENV' && !documented.includes(`| \`${name}\` |`))
  expect(unknown).toEqual([])
})
