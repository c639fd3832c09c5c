import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { VERSION } from '../src/base/version.ts'
import { METRICS_PATH } from '../src/http/auth/api-key-auth.ts'
import { STOP_WITHIN_MS } from '../src/main.ts'
import { temporaryHome } from './process.ts'
import { isInstalled } from './programs.ts'

const CHART = fileURLToPath(new URL('../../deploy/helm/guiche', import.meta.url))
const read = (path: string) => readFileSync(join(CHART, path), 'utf8')
const run = promisify(execFile)

// ---- The texts of the templates ----

const names = readdirSync(join(CHART, 'templates'))
const templates = new Map(names.map((name) => [name, read(`templates/${name}`)]))
const everything = [...templates.values()].join('\n')
const values = parse(read('values.yaml')) as Values
type Values = { [key: string]: unknown }

const found = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, one]) => one!)
const part = (name: string) => everything.split('{{- define ').find((text) => text.startsWith(`"${name}"`))!
const valueAt = (path: string) => path.split('.').reduce<unknown>((value, key) => (value as Values)?.[key], values)

test('the templates read values that exist, and every value is read', () => {
  const asked = found(everything, /\.Values\.([\w.]+)/g)
  expect(asked.filter((path) => valueAt(path) === undefined)).toEqual([])
  const isRead = (path: string) => asked.some((one) => path === one || path.startsWith(`${one}.`))
  expect(pathsIn(values).filter((path) => !isRead(path))).toEqual([])
})

function pathsIn(value: unknown, path: string[] = []): string[] {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return [path.join('.')]
  return Object.entries(value).flatMap(([key, inner]) => pathsIn(inner, [...path, key]))
}

test('the templates include parts that are defined, and end what they begin', () => {
  const defined = found(everything, /define "([^"]+)"/g)
  expect(found(everything, /include "([^"]+)"/g).filter((name) => !defined.includes(name))).toEqual([])
  for (const [name, text] of templates)
    expect([name, found(text, /\{\{- (end) \}\}/g).length]).toEqual([name, found(text, /\{\{- (if|define) /g).length])
})

test('the chart asks for a secret, a public URL and providers, and switches on what is asked for', () => {
  const required = found(everything, /required "[^"]+" \.Values\.([\w.]+)/g)
  expect(required.toSorted()).toEqual(['backup.claim', 'config.PROVIDERS', 'config.PUBLIC_URL', 'existingSecret'])
  const switches = [...templates].flatMap(([name, text]) =>
    found(text, /^\{\{- if \.Values\.([\w.]+) \}\}[^]*\{\{- end \}\}\n$/g).map((path) => [name, path, valueAt(path)]),
  )
  expect(switches).toEqual([
    ['audit.yaml', 'audit.enabled', true],
    ['backup.yaml', 'backup.enabled', false],
    ['ingress.yaml', 'ingress.enabled', false],
    ['networkpolicy.yaml', 'networkPolicy.enabled', false],
    ['servicemonitor.yaml', 'serviceMonitor.enabled', false],
    ['worker-service.yaml', 'roles.split', false],
    ['worker.yaml', 'roles.split', false],
  ])
})

test('every pod is confined as the restricted standard of Kubernetes wants it', () => {
  const running = [...templates].filter(([, text]) => text.includes('containers:'))
  expect(running.map(([name]) => name)).toEqual(['audit.yaml', 'backup.yaml', 'deployment.yaml', 'worker.yaml'])
  for (const [, text] of running) {
    expect(text).toContain('include "guiche.pod" .')
    expect(text).toMatch(/include "guiche\.(container|confined)" \./)
    expect(text).not.toContain('securityContext')
  }
  expect(part('guiche.container')).toContain('include "guiche.confined" .')
  const pod = part('guiche.pod')
  for (const line of ['automountServiceAccountToken: false', 'runAsNonRoot: true', 'type: RuntimeDefault'])
    expect(pod).toContain(line)
  const container = part('guiche.confined')
  for (const line of ['allowPrivilegeEscalation: false', 'readOnlyRootFilesystem: true', 'drop: [ALL]'])
    expect(container).toContain(line)
  expect(found(container, /- name: (\w+)\n/g)).toEqual(found(pod, /- name: (\w+)\n/g))
})

test('Kubernetes and Prometheus ask at paths that guiche serves, and Prometheus with the token that guiche reads', () => {
  const probes = part('guiche.listening')
  expect(found(probes, /^(\w+)Probe:/gm)).toEqual(['startup', 'liveness', 'readiness'])
  expect(found(probes, /path: ([^ ,]+)/g)).toEqual(['/livez', '/livez', '/readyz'])
  const monitor = templates.get('servicemonitor.yaml')!
  expect(found(monitor, /path: (.*)/g)).toEqual([METRICS_PATH])
  expect(monitor).toMatch(/type: Bearer\s+credentials:\s+name: \{\{ \.Values\.existingSecret \}\}\s+key: METRICS_TOKEN/)
})

test('a pod that stops has time to drain and to finish', () => {
  expect(templates.get('configmap.yaml')).toContain('DRAIN_SECONDS: {{ .Values.drainSeconds | quote }}')
  const beyond = found(everything, /terminationGracePeriodSeconds: \{\{ add \.Values\.drainSeconds (\d+) \}\}/g)
  expect(beyond).toHaveLength(2)
  for (const seconds of beyond) expect(Number(seconds) * 1000).toBeGreaterThan(STOP_WITHIN_MS)
})

test('an upgrade keeps all pods until new ones serve, and waits for a migration of twenty minutes', () => {
  for (const name of ['deployment.yaml', 'worker.yaml']) {
    const text = templates.get(name)!
    for (const one of ['podMetadata', 'rollout', 'listening']) expect(text).toContain(`include "guiche.${one}" .`)
    expect(found(text, /topologyKey: (.*)/g)).toEqual(['topology.kubernetes.io/zone', 'kubernetes.io/hostname'])
  }
  expect(part('guiche.rollout')).toMatch(/maxUnavailable: 0\s+maxSurge: 1/)
  expect(part('guiche.listening')).toMatch(/startupProbe:\s+.*\s+periodSeconds: 2\s+.*\s+failureThreshold: 600/)
  expect(part('guiche.podMetadata')).toContain('checksum/config: {{ toYaml .Values.config | sha256sum }}')
})

test('requests go to the pods that answer, and the rest counts the workers too, but no job', () => {
  const both = '{ key: app.kubernetes.io/name, operator: In, values: [guiche, guiche-worker] }'
  for (const name of ['networkpolicy.yaml', 'poddisruptionbudget.yaml', 'servicemonitor.yaml'])
    expect(found(templates.get(name)!, /matchExpressions:\n\s+- (.*)/g)).toEqual([both])
  const namesIn = (name: string) => [...new Set(found(templates.get(name)!, /kubernetes\.io\/name: (.*)/g))]
  for (const name of ['deployment.yaml', 'service.yaml']) expect(namesIn(name)).toEqual(['guiche'])
  for (const name of ['worker.yaml', 'worker-service.yaml']) expect(namesIn(name)).toEqual(['guiche-worker'])
  for (const name of ['audit', 'backup']) expect(namesIn(`${name}.yaml`)).toEqual([`guiche-${name}`])
  expect(templates.get('deployment.yaml')).toContain('[start, --role, {{ ternary "api" "all" .Values.roles.split }}]')
  expect(templates.get('worker.yaml')).toContain('[start, --role, worker]')
})

test('the backup of the chart dumps the database of the service, and deletes all but the last dumps', async () => {
  const [block] = found(templates.get('backup.yaml')!, /args:\n\s+- \|\n((?: {18}.*\n)+)/g)
  const folder = temporaryHome()
  const programs = temporaryHome()
  writeFileSync(join(programs, 'pg_dump'), '#!/bin/sh\n[ "$3" = postgresql://a ] && echo dump >"${2#--file=}"\n', {
    mode: 0o755,
  })
  for (const name of ['guiche-20260101T030000Z.dump', 'guiche-20260102T030000Z.dump', 'other'])
    writeFileSync(join(folder, name), '')
  const script = block!.replaceAll(/^ {18}/gm, '').replace('/backups', folder)
  const env = { PATH: `${programs}:${process.env['PATH']}`, DATABASE_URL: 'postgresql://a', KEEP: '2' }
  await run('sh', ['-ec', script], { env })
  const kept = readdirSync(folder).toSorted()
  expect(kept).toEqual(['guiche-20260102T030000Z.dump', expect.stringMatching(/^guiche-\d{8}T\d{6}Z\.dump$/), 'other'])
  await expect(run('sh', ['-ec', script], { env: { ...env, DATABASE_URL: 'postgresql://b' } })).rejects.toMatchObject({
    code: 1,
  })
  expect(readdirSync(folder).toSorted()).toEqual(kept)
})

// ---- What Helm makes of them ----

const WANTED = {
  existingSecret: 'guiche-secrets',
  config: { PUBLIC_URL: 'https://pay.example.com', PROVIDERS: 'mybank' },
}
const ALL_ON = {
  ...WANTED,
  filesSecret: 'files',
  ingress: { enabled: true, annotations: { a: 'b' } },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  networkPolicy: { enabled: true },
  backup: { enabled: true, claim: 'dumps' },
  roles: { split: true, worker: { replicas: 3 } },
}
type Manifest = { kind: string; metadata: { name: string }; spec: Values }

async function render(given: object): Promise<Manifest[]> {
  const file = join(temporaryHome(), 'values.yaml')
  writeFileSync(file, stringify(given))
  const { stdout } = await run('helm', ['template', 'shop', CHART, '--kube-version', '1.27.0', '--values', file])
  return parseAllDocuments(stdout, { version: '1.1' }).map((document) => document.toJS() as Manifest)
}
const namesOf = (manifests: Manifest[]) => manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted()

// Debian has no package of Helm. With Helm installed, this renders the chart.
test.skipIf(!isInstalled('helm', 'version'))(
  'Helm renders the chart, and refuses to without what it needs',
  async () => {
    const always = [
      'ConfigMap shop',
      'CronJob shop-audit',
      'Deployment shop',
      'PodDisruptionBudget shop',
      'Service shop',
    ]
    const plain = await render(WANTED)
    expect(namesOf(plain)).toEqual(always)
    expect(plain.find(({ kind }) => kind === 'Deployment')!.spec).toMatchObject({
      replicas: 2,
      template: {
        spec: {
          terminationGracePeriodSeconds: 55,
          containers: [
            {
              args: ['start', '--role', 'all'],
              image: `registry.example.com/guiche:${VERSION}`,
              envFrom: [{ configMapRef: { name: 'shop' } }, { secretRef: { name: 'guiche-secrets' } }],
              volumeMounts: [{ name: 'tmp' }],
              livenessProbe: { httpGet: { path: '/livez' } },
              securityContext: { readOnlyRootFilesystem: true },
            },
          ],
        },
      },
    })
    const optional = ['CronJob shop-backup', 'Deployment shop-worker', 'Ingress shop', 'NetworkPolicy shop']
    const whole = [...always, ...optional, 'Service shop-worker', 'ServiceMonitor shop']
    expect(namesOf(await render(ALL_ON))).toEqual(whole.toSorted())
    for (const lacking of [
      { existingSecret: '' },
      { config: { PROVIDERS: 'mybank' } },
      { config: { PUBLIC_URL: 'https://a.example' } },
      { backup: { enabled: true } },
    ])
      await expect(render({ ...WANTED, ...lacking })).rejects.toThrow(/must (be set|name)/)
  },
)
