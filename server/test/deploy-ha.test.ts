import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { versionIn } from '../../prove/failover/programs.mjs'

// prove/failover.mjs runs these files. These tests only check that they can be filled in.

const HA = fileURLToPath(new URL('../../deploy/ha', import.meta.url))
const read = (name: string) => readFileSync(join(HA, name), 'utf8')
const TEMPLATES = ['etcd.env', 'haproxy.cfg', 'patroni.yml']

test('the templates ask for the variables of node.env.example, and for no others', () => {
  const named = [...read('node.env.example').matchAll(/^([A-Z_0-9]+)=/gm)].map(([, name]) => name!)
  const asked = TEMPLATES.flatMap((name) => [...read(name).matchAll(/\$\{(\w+)\}/g)].map(([, variable]) => variable!))
  expect([...new Set(asked)].toSorted()).toEqual(named.toSorted())
})

test('the proof names the version of each program, and no date of its log', () => {
  const etcd =
    '2026-11-18 06:11:05.123456 W | running on this machine is not tested\netcd Version: 3.4.23\nGo Version: go1.19.8\n'
  expect(
    ['postgres (PostgreSQL) 15.18 (Debian 15.18-0)', 'patroni 3.0.2', etcd, 'HAProxy version 2.6.12-1 2026/12/16'].map(
      versionIn,
    ),
  ).toEqual(['15.18', '3.0.2', '3.4.23', '2.6.12'])
})

test('every template is in the guide', () => {
  const files = readdirSync(HA).filter((name) => name !== 'README.md')
  expect(files.toSorted()).toEqual([...TEMPLATES, 'node.env.example'].toSorted())
  for (const name of files) expect(read('README.md')).toContain(name)
})

test('no commit is acknowledged before a standby has it, whatever else is away', () => {
  const filled = read('patroni.yml').replaceAll(/\$\{(\w+)\}/g, '$1')
  const { bootstrap } = parse(filled) as { bootstrap: { dcs: Record<string, unknown> } }
  const { ttl, loop_wait: wait, retry_timeout: retry, ...dcs } = bootstrap.dcs as Record<string, number>
  expect(dcs).toMatchObject({
    synchronous_mode: 'SYNCHRONOUS_MODE',
    synchronous_mode_strict: true,
    postgresql: { parameters: { synchronous_commit: 'on' } },
  })
  expect(ttl).toBeGreaterThanOrEqual(wait! + 2 * retry!)
})
