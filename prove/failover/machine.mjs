// A machine of the cluster: a network and a process table of its own, with etcd, Patroni and PostgreSQL in it. A cable
// leads from its eth0 to the switch, a bridge in the network of the proof.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { run } from '../../scripts/bootstrap.mjs'
import { NAMESPACES, readUser } from './programs.mjs'

export const SWITCH = 'switch'

const BOOT = fileURLToPath(new URL('boot.sh', import.meta.url))
const ASK_WITHIN_MS = 1_000
// A write at a leader that lost its standbys waits for ever.
const WRITE_WITHIN_MS = 2_000
const WRITE_EVERY_MS = 300

/**
 * `files` are the texts to put into `folder`, by name. `psql` is the path of that program. `password` is the
 * superuser's.
 */
export function makeMachine({ name, address, folder, files, psql, password }) {
  const { uid, gid } = readUser('postgres')
  let init
  let cable
  let boots = 0

  mkdirSync(folder)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
  for (const path of ['.', ...Object.keys(files)]) chownSync(join(folder, path), uid, gid)

  const inNetwork = () => ['nsenter', `--net=/proc/${init.pid}/ns/net`]
  // unshare itself stays outside of the process table that it makes.
  const signal = (name, to) =>
    must('nsenter', `--pid=/proc/${init.pid}/ns/pid_for_children`, 'sh', '-c', `cd ${folder} && kill -${name} ${to}`)

  return {
    name,
    address,
    async boot() {
      boots += 1
      // Each boot names its cable anew, because the last one may not have been removed yet.
      cable = `${name}-${boots}`
      const env = { PATH: process.env.PATH, HOME: folder, LANG: 'C.UTF-8', ...ARCHITECTURE }
      init = spawn('unshare', [...NAMESPACES, 'sh', BOOT], { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] })
      await once(init.stdout, 'data')
      await must('ip', 'link', 'add', cable, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(init.pid))
      await must('ip', 'link', 'set', cable, 'master', SWITCH, 'up')
      await must(...inNetwork(), 'ip', 'address', 'add', `${address}/24`, 'dev', 'eth0')
      await must(...inNetwork(), 'ip', 'link', 'set', 'eth0', 'up')
      init.stdin.end('go\n')
    },
    /** Kills everything that runs on the machine: the kernel ends a process table with its first process. */
    async kill() {
      const exited = once(init, 'exit')
      init.kill('SIGKILL')
      await exited
    },
    freeze: () => signal('STOP', '-1'),
    /**
     * Freezes Patroni and the postmaster. PostgreSQL's sessions go on: the hardest case for a leader that lost its
     * place.
     */
    freezeHeads: () => signal('STOP', '$(cat patroni.pid) $(head -n 1 data/postmaster.pid)'),
    /** Freezes all but etcd, which goes on voting, as on a machine whose database is down. */
    async freezeDatabase() {
      await signal('STOP', '-1')
      await signal('CONT', '$(cat etcd.pid)')
    },
    thaw: () => signal('CONT', '-1'),
    cut: () => must('ip', 'link', 'set', cable, 'down'),
    mend: () => must('ip', 'link', 'set', cable, 'up'),
    /** Asks Patroni. Returns whether the answer was a success, and its JSON. */
    async ask(path) {
      try {
        const answer = await fetch(`http://${address}:8008${path}`, { signal: AbortSignal.timeout(ASK_WITHIN_MS) })
        return { isOk: answer.ok, json: await answer.json() }
      } catch {
        return { isOk: false, json: {} }
      }
    },
    /** Runs SQL as a program on the machine itself would, so the state of its cable does not matter. */
    async sql(text, withinMs = 30_000) {
      const [program, ...args] = [...inNetwork(), psql, '-h', address, '-U', 'postgres', '-d', 'postgres']
      const child = spawn(program, [...args, '-X', '-q', '-t', '-A', '-v', 'ON_ERROR_STOP=1', '-c', text], {
        env: { PATH: process.env.PATH, PGPASSWORD: password, PGCONNECT_TIMEOUT: '2' },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: withinMs,
        // With SIGINT psql would cancel the wait for the standby, and take a local commit for an acknowledged one.
        killSignal: 'SIGKILL',
      })
      let output = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
      const [code] = await once(child, 'close')
      return { isOk: code === 0, output: output.trim() }
    },
    /** Writes into `probes` until the signal. Returns how often it tried, and what was acknowledged. */
    async writeUntil(signal) {
      const acknowledged = []
      let tries = 0
      while (!signal.aborted) {
        const id = `${name}-${boots}-${performance.now()}`
        tries += 1
        if ((await this.sql(`insert into probes values ('${id}')`, WRITE_WITHIN_MS)).isOk) acknowledged.push(id)
        await sleep(WRITE_EVERY_MS)
      }
      return { tries, acknowledged }
    },
  }
}

/** Runs a program that must succeed. */
export async function must(...command) {
  const { code, output } = await run(command)
  if (code !== 0) throw new Error(`${command.join(' ')} failed: ${output.trim()}`)
}

/** etcd requires this variable on architectures that its makers do not test. */
const ARCHITECTURE = process.arch === 'arm64' ? { ETCD_UNSUPPORTED_ARCH: 'arm64' } : {}
