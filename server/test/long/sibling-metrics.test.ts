import { Counter, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { mergeMetrics } from '../../src/process/sibling-metrics.ts'
import { startFreezingProxy } from '../database-proxy.ts'
import { makeOperator } from '../operators-client.ts'
import { CLI, startServer, temporaryHome, type ServerProcess } from '../process.ts'
import { bearer } from '../requests.ts'
import { until, world } from '../world.ts'

test('metrics of several processes stand together by name, each with the label of its process', async () => {
  const textOf = async (value: number) => {
    const registry = new Registry()
    const registers = [registry]
    new Counter({ name: 'a_total', help: 'Has {no} labels.', registers }).inc(value)
    new Counter({ name: 'b_total', help: 'Has some.', registers, labelNames: ['route'] }).inc({ route: '/a b' }, value)
    return registry.metrics()
  }
  const merged = mergeMetrics([
    { name: '1', text: await textOf(3) },
    { name: '2', text: await textOf(4) },
    { name: '3', text: '' },
  ])
  expect(merged.split('\n')).toEqual([
    '# HELP a_total Has {no} labels.',
    '# TYPE a_total counter',
    'a_total{process="1"} 3',
    'a_total{process="2"} 4',
    '',
    '# HELP b_total Has some.',
    '# TYPE b_total counter',
    'b_total{process="1",route="/a b"} 3',
    'b_total{process="2",route="/a b"} 4',
    '',
  ])
})

test('each of several processes answers a scrape for all, also after one was replaced', async () => {
  const w = await world()
  const { key: accountKey } = await w.account()
  const { key } = await makeOperator(w)
  const env = { DATABASE_URL: w.databaseUrl, GUICHE_HOME: temporaryHome(), SECRET_KEY: 'k'.repeat(32) }
  const server = await startServer(env, CLI, ['--processes', '2'])
  await until('both answer', async () => (await scrape(server, key)).get('guiche_build_info')?.size === 2)
  const create = () =>
    fetch(`${server.url}/api/deposit`, {
      method: 'POST',
      // Each request has a connection of its own, so that both processes get some.
      headers: { ...bearer(accountKey), 'content-type': 'application/json', connection: 'close' },
      body: '{"value":5000}',
    })
  const created = await Promise.all(Array.from({ length: 12 }, create))
  expect(created.map(({ status }) => status)).toEqual(Array(12).fill(201))

  const scrapes = await Promise.all(Array.from({ length: 6 }, () => scrape(server, key)))
  for (const metrics of scrapes) {
    const opened = metrics.get('guiche_deposits_total')!
    expect([...opened.keys()].toSorted()).toEqual(['1', '2'])
    expect(sum(opened)).toBe(12)
    expect([...metrics.get('guiche_database_up')!.values()]).toEqual([1, 1])
  }

  const [, pid] = /"pid":(\d+).*a bank for tests/.exec(server.output())!
  process.kill(Number(pid), 'SIGKILL')
  await until('it is gone', async () => server.output().includes(`Process ${pid} ended unexpectedly`))
  const left = scrapes[0]!.get('guiche_deposits_total')!.get('2')!
  await until('another took its place', async () => {
    const opened = (await scrape(server, key).catch(() => undefined))?.get('guiche_deposits_total')
    return opened?.get('1') === 0 && opened.get('2') === left
  })
})

test('while the database is frozen, each of several processes still answers a scrape for all', async () => {
  const w = await world()
  const proxy = await startFreezingProxy(w.directUrl)
  const METRICS_TOKEN = 't'.repeat(32)
  const env = { DATABASE_URL: proxy.url, GUICHE_HOME: temporaryHome(), SECRET_KEY: 'k'.repeat(32), METRICS_TOKEN }
  const server = await startServer(env, CLI, ['--processes', '2'])
  const bothSay = (isUp: 0 | 1) =>
    until(`both say ${isUp}`, async () => {
      const metrics = await scrape(server, METRICS_TOKEN)
      return String([...(metrics.get('guiche_database_up')?.values() ?? [])]) === `${isUp},${isUp}` && metrics
    })
  expect((await bothSay(1)).get('guiche_queue_due')?.size).toBe(2)
  proxy.freeze()
  const frozen = await bothSay(0)
  expect(frozen.get('guiche_queue_due')).toBeUndefined()
  expect(frozen.get('guiche_deposits_total')?.size).toBe(2)
})

function sum(values: Map<string, number>): number {
  return [...values.values()].reduce((all, value) => all + value, 0)
}

/** The metrics by name, and then by process. For deposits, only those that were opened. */
async function scrape(server: ServerProcess, key: string): Promise<Map<string, Map<string, number>>> {
  const answer = await fetch(`${server.url}/metrics`, { headers: { ...bearer(key), connection: 'close' } })
  expect(answer.status).toBe(200)
  const metrics = new Map<string, Map<string, number>>()
  for (const line of (await answer.text()).split('\n')) {
    const [, name, process, labels, value] = /^(\w+)\{process="(\d)"(.*)\} (\S+)$/.exec(line) ?? []
    if (name === undefined || (name === 'guiche_deposits_total' && labels !== ',state="opened"')) continue
    const values = metrics.get(name) ?? new Map<string, number>()
    metrics.set(name, values.set(process!, Number(value)))
  }
  return metrics
}
