// Three machines and HAProxy, from the templates of deploy/ha.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../../scripts/bootstrap.mjs'
import { makeMachine, must, SWITCH } from './machine.mjs'
import { find, postgresBin } from './programs.mjs'

const NETWORK = '10.77.0.0/24'
const OUR_ADDRESS = '10.77.0.254/24'
const ADDRESSES = ['10.77.0.1', '10.77.0.2', '10.77.0.3']
const HAPROXY = '127.0.0.1'
// The first start creates a database and copies it twice; later ones rewind it.
const WHOLE_WITHIN_MS = 120_000

/** Boots the machines, waits until all three work, and creates the database. */
export async function openCluster({ home, settings }) {
  await must('ip', 'link', 'set', 'lo', 'up')
  await must('ip', 'link', 'add', SWITCH, 'type', 'bridge')
  await must('ip', 'address', 'add', OUR_ADDRESS, 'dev', SWITCH)
  await must('ip', 'link', 'set', SWITCH, 'up')
  const shared = {
    ADDRESS_1: ADDRESSES[0],
    ADDRESS_2: ADDRESSES[1],
    ADDRESS_3: ADDRESSES[2],
    NETWORK,
    ...settings,
    PG_BIN: postgresBin(),
    // All machines would share this kernel's watchdog, if it has one.
    WATCHDOG: 'off',
    SUPERUSER_PASSWORD: password(),
    REPLICATION_PASSWORD: password(),
    RESTAPI_PASSWORD: password(),
    HAPROXY_ADDRESS: HAPROXY,
  }
  const machines = ADDRESSES.map((address, index) => machineFrom(shared, { home, address, name: `node${index + 1}` }))
  await Promise.all(machines.map((machine) => machine.boot()))
  startHaproxy(home, fillIn('haproxy.cfg', shared))
  const cluster = { machines, ...questionsTo(machines, settings.SYNCHRONOUS_MODE !== 'off') }
  const leader = await cluster.untilWhole()
  return { ...cluster, urls: await createDatabase(leader) }
}

function machineFrom(shared, { home, address, name }) {
  const folder = join(home, name)
  const values = {
    ...shared,
    NODE_NAME: name,
    NODE_ADDRESS: address,
    PG_DATA: join(folder, 'data'),
    PG_SOCKETS: folder,
    ETCD_DATA: join(folder, 'etcd'),
  }
  const files = { 'etcd.env': fillIn('etcd.env', values), 'patroni.yml': fillIn('patroni.yml', values) }
  const psql = join(shared.PG_BIN, 'psql')
  return makeMachine({ name, address, folder, files, psql, password: shared.SUPERUSER_PASSWORD })
}

/** Fills in a template as envsubst does, but throws if a value is missing. */
function fillIn(template, values) {
  return readFileSync(join(root, 'deploy/ha', template), 'utf8').replaceAll(/\$\{(\w+)\}/g, (_, name) => {
    if (values[name] === undefined) throw new Error(`deploy/ha/${template} asks for ${name}, which nobody sets`)
    return values[name]
  })
}

function startHaproxy(home, config) {
  const path = join(home, 'haproxy.cfg')
  writeFileSync(path, config)
  const child = spawn(find('haproxy'), ['-db', '-f', path], { stdio: ['ignore', 'pipe', 'pipe'] })
  const log = createWriteStream(join(home, 'haproxy.log'))
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => log.write(chunk))
}

function questionsTo(machines, isSynchronous) {
  /** Finds the machine that holds the leader's key and runs PostgreSQL as the primary. It does not ask `other`. */
  async function leader(other) {
    const asked = machines.filter((machine) => machine !== other)
    const answers = await Promise.all(asked.map((machine) => machine.ask('/primary')))
    return asked.find((_, index) => answers[index].isOk)
  }
  /** The standbys, as Patroni on `leading` knows them. */
  async function standbys(leading) {
    const { members = [] } = (await leading.ask('/cluster')).json
    return members.filter(({ role }) => role !== 'leader')
  }
  /**
   * Says what the cluster lacks of a leader and two standbys, one of them synchronous. A standby counts when its
   * PostgreSQL streams from this leader and its Patroni calls it a replica. While PostgreSQL still starts, Patroni 3.0
   * does not point it at another leader, so the next fault would find one machine fewer.
   */
  async function missing() {
    const found = await leader()
    if (!found) return 'there is no leader'
    const { output } = await found.sql("select application_name from pg_stat_replication where state = 'streaming'")
    const streaming = new Set(output.split('\n'))
    for (const machine of machines.filter((machine) => machine !== found)) {
      if (!streaming.has(machine.name)) return `${machine.name} does not stream from ${found.name}`
      if (!(await machine.ask('/replica')).isOk) return `${machine.name} is no replica yet`
    }
    const isSafe = !isSynchronous || (await standbys(found)).some(isWaitedFor)
    return isSafe ? undefined : 'no standby is synchronous'
  }
  return {
    leader,
    /** A standby that `leading` can lose without losing what it acknowledged. */
    async spare(leading) {
      const all = await standbys(leading)
      const { name } = all.find((standby) => !isWaitedFor(standby)) ?? all[0]
      return machines.find((machine) => machine.name === name)
    },
    /** Waits for a leader and two standbys. Returns the leader. */
    async untilWhole() {
      const end = Date.now() + WHOLE_WITHIN_MS
      for (;;) {
        const lack = await missing()
        const found = lack ? undefined : await leader()
        if (found) return found
        if (Date.now() > end) throw new Error(`the cluster is not whole after ${WHOLE_WITHIN_MS / 1000} s: ${lack}`)
        await sleep(250)
      }
    },
  }
}

/** Tells whether the leader waits for this member before it acknowledges. Patroni 4 calls such a member `quorum`. */
function isWaitedFor({ role }) {
  return /sync|quorum/.test(role)
}

/** Creates the role and the database of guiche, and a table for our own writes. Returns the URLs of the database. */
async function createDatabase(leader) {
  const secret = password()
  for (const statement of [
    `create role guiche login password '${secret}'`,
    'create database guiche owner guiche',
    'create table probes (id text primary key)',
  ]) {
    const { isOk, output } = await leader.sql(statement)
    if (!isOk) throw new Error(`"${statement}" failed: ${output}`)
  }
  const url = (hosts) => `postgresql://guiche:${secret}@${hosts}/guiche`
  return {
    hosts: url(ADDRESSES.map((address) => `${address}:5432`).join(',')),
    haproxy: url(`${HAPROXY}:5000`),
    replicas: url(`${HAPROXY}:5001`),
  }
}

function password() {
  return randomBytes(24).toString('hex')
}
