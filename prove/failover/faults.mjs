// The faults of the leader. Each one ends when the cluster is whole again, so every fault begins with three machines.
// Two faults at once are a kind of their own: `kill-alone`.

import { setTimeout as sleep } from 'node:timers/promises'

// How long the old leader stays away after the others work again, and how long it is written to after it is back.
const AWAY_FOR_MS = 3_000
const BACK_FOR_MS = 5_000
// Patroni's ttl is 20 s. Then one standby is promoted, the other follows it, and guiche finds them.
const RECOVERED_WITHIN_MS = 90_000
// How long a leader without any standby is watched: it must acknowledge nothing.
const ALONE_FOR_MS = 15_000

export const FAULTS = {
  kill: {
    says: 'kill -9',
    async go(machine, untilRecovered) {
      await machine.kill()
      await untilRecovered()
      await machine.boot()
      return { tries: 0, acknowledged: [] }
    },
  },
  'kill-alone': {
    says: 'kill -9, a standby away,',
    async go(machine, untilRecovered, { cluster, load, note, say }) {
      const spare = await cluster.spare(machine)
      await spare.freezeDatabase()
      await machine.kill()
      const next = await untilLeads(cluster, machine)
      if (next) {
        const since = performance.now()
        const first = Promise.race([load.acknowledged(0, since), load.acknowledged(1, since)])
        const time = await Promise.race([first, sleep(ALONE_FOR_MS)])
        if (time) note('alone', `${next.name} had no standby, and a deposit was acknowledged`)
        else say(`  ${next.name} leads without a standby: no deposit is acknowledged`)
      } else note('alone', `nobody led after ${machine.name}`)
      await spare.thaw()
      await untilRecovered()
      await machine.boot()
      return { tries: 0, acknowledged: [] }
    },
  },
  freeze: { says: 'freeze', go: (machine, untilRecovered) => freeze(machine, machine.freeze, untilRecovered) },
  'freeze-heads': {
    says: 'freeze without its sessions',
    go: (machine, untilRecovered) => freeze(machine, machine.freezeHeads, untilRecovered),
  },
  partition: {
    says: 'partition',
    async go(machine, untilRecovered) {
      const mended = new AbortController()
      await machine.cut()
      const writing = machine.writeUntil(mended.signal)
      await untilRecovered()
      await sleep(AWAY_FOR_MS)
      await machine.mend()
      await sleep(BACK_FOR_MS)
      mended.abort()
      return writing
    },
  },
}

async function freeze(machine, stop, untilRecovered) {
  await stop()
  await untilRecovered()
  await sleep(AWAY_FOR_MS)
  // The first write waits until the machine wakes up, and arrives before Patroni knows what it missed.
  const over = new AbortController()
  const writing = machine.writeUntil(over.signal)
  await machine.thaw()
  await sleep(BACK_FOR_MS)
  over.abort()
  return writing
}

/**
 * Inflicts the fault on the leader, and waits until the cluster is whole and deposits are acknowledged. Returns the
 * seconds to the first acknowledged deposit of each process, and what was written at the old leader meanwhile. Notes a
 * breach and returns undefined if no deposit is acknowledged in time.
 */
export async function inflict(kind, { cluster, load, note, say }) {
  const { says, go } = FAULTS[kind]
  const machine = await cluster.leader()
  const began = performance.now()
  /** Resolves to the seconds since the fault, or to undefined if it takes too long. */
  const untilAcknowledged = async () => {
    const late = sleep(RECOVERED_WITHIN_MS, undefined, { ref: false })
    const now = performance.now()
    const times = await Promise.race([Promise.all([load.acknowledged(0, now), load.acknowledged(1, now)]), late])
    return times?.map((time) => (time - began) / 1000)
  }
  let seconds
  say(`${says} of ${machine.name}, the leader`)
  const untilRecovered = async () => {
    await untilLeads(cluster, machine)
    seconds = await untilAcknowledged()
    if (seconds) say(`  deposits are acknowledged again after ${seconds.map((it) => it.toFixed(1)).join(' and ')} s`)
  }
  const written = await go(machine, untilRecovered, { cluster, load, note, say })
  if (written.tries > 0)
    say(
      `  ${written.tries} writes were tried at ${machine.name} meanwhile: ${written.acknowledged.length} acknowledged`,
    )
  const leader = seconds && (await cluster.untilWhole())
  // Deposits must still be acknowledged after the old leader has returned.
  if (leader && (await untilAcknowledged())) {
    say(`  ${leader.name} leads, and ${machine.name} is back`)
    return { kind, says, name: machine.name, seconds, written }
  }
  note('recovered', `${says} of ${machine.name}: no deposit within ${RECOVERED_WITHIN_MS / 1000} s`)
  return undefined
}

/** Waits until another machine leads, and returns it. Returns undefined if that takes too long. */
async function untilLeads(cluster, lost) {
  const end = performance.now() + RECOVERED_WITHIN_MS
  for (;;) {
    const leader = await cluster.leader(lost)
    if (leader || performance.now() > end) return leader
    await sleep(100)
  }
}
