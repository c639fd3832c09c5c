// Proves that a failover of PostgreSQL loses and doubles nothing. See prove/README.md.
//
// The cluster, guiche and the bank run in a network and a process table of their own (unshare). So nothing of this
// machine's network changes, cables can be pulled, and everything ends when this program does.

import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ensureBuilt, ensureInstalled, ensureNode, root } from '../scripts/bootstrap.mjs'
import { FAULTS } from './failover/faults.mjs'
import { ensurePackages, NAMESPACES } from './failover/programs.mjs'

const DRILL = fileURLToPath(new URL('failover/drill.mjs', import.meta.url))
const WHOLE_WITHIN_MS = 20 * 60_000

const HELP = `npm run prove:failover [-- --quick] [--faults kill,freeze,…] [--asynchronous] [--seed N] [--keep] [--dist DIR]

Starts three machines, each with etcd, Patroni and PostgreSQL, from the templates in deploy/ha. Two guiche processes use
them: one knows the three addresses, one goes through HAProxy. While deposits are requested, paid and announced without
a pause, the leader is killed (kill -9), frozen (SIGSTOP) and cut off from the network. Then the books are compared with
the bank's list and with every answer.

  --quick          2 kills, 1 freeze, 1 partition: under four minutes. Otherwise 5, 2 and 2: about ten
  --faults         others than these, in order: kill, kill-alone (while a standby is away), freeze, freeze-heads (its
                   sessions go on), partition
  --seed           decides what is requested and paid; printed by every run. The interleaving varies
  --asynchronous   the standbys are not waited for: a cluster that loses writes, on which the proof must exit 1
  --keep           keeps the data and the logs of all machines, as a proof does that failed or could not run
  --dist           a build other than server/dist

It needs Linux, root, and Debian's packages: it installs them with apt-get if they are missing. In a container it needs
the capabilities SYS_ADMIN and NET_ADMIN (docker run --privileged).

Exit 0: nothing was lost or doubled, and all claims held. 1: a claim failed. 2: the proof could not run.`

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    faults: { type: 'string' },
    asynchronous: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    keep: { type: 'boolean', default: false },
    dist: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const unknown = options.faults?.split(',').filter((kind) => !(kind in FAULTS)) ?? []
if (options.help || unknown.length > 0) {
  console.log(HELP)
  process.exit(options.help ? 0 : 2)
}
ensureNode()
const missing = await ensurePackages()
if (missing) {
  console.error(`The proof cannot run here: ${missing}`)
  process.exit(2)
}
if (!options.dist) {
  await ensureInstalled()
  await ensureBuilt()
}
const home = mkdtempSync(join(tmpdir(), 'guiche-failover-'))
// PostgreSQL runs as another user, who must be able to enter this directory.
chmodSync(home, 0o755)
process.exitCode = await runDrill()
if (options.keep || process.exitCode !== 0) console.log(`Kept for inspection: ${home}`)
else rmSync(home, { recursive: true, force: true })

/**
 * Resolves to the drill's exit code. A signal to us kills the drill, and the kernel then ends its whole process table.
 */
async function runDrill() {
  const settings = { home, dist: resolve(options.dist ?? join(root, 'server/dist')), ...options }
  const child = spawn('unshare', [...NAMESPACES, process.execPath, DRILL, JSON.stringify(settings)], {
    stdio: 'inherit',
  })
  /** @type {string | undefined} */
  let why
  const end = (reason) => {
    why ??= reason
    child.kill('SIGKILL')
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end)
  const timer = setTimeout(() => end(`not done within ${WHOLE_WITHIN_MS / 60_000} minutes`), WHOLE_WITHIN_MS)
  const [code] = await once(child, 'exit')
  clearTimeout(timer)
  if (why) console.error(`The proof was ended: ${why}`)
  return code ?? 2
}
