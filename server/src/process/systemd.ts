import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Log } from '../base/log.ts'

export type Systemd = {
  /** systemd restarts a service that is silent for this long; 0: it does not watch. */
  watchdogMs: number
}

// One that hangs must not pile up others.
const NOTIFY_TIMEOUT_MS = 5_000
// systemd.service(5) advises half of the time; a third survives one late message.
const SIGNS_PER_WATCHDOG = 3

const run = promisify(execFile)

/**
 * Tells systemd that the service is ready, alive and stopping. Node has no unix datagram sockets, so the program
 * systemd-notify sends the messages: the unit needs NotifyAccess=all.
 */
export function makeSystemdNotifier(systemd: Systemd | undefined, log: Log) {
  let isSending = false
  let hasFailed = false

  async function send(message: string): Promise<void> {
    isSending = true
    try {
      await run('systemd-notify', [message], { timeout: NOTIFY_TIMEOUT_MS })
    } catch (err) {
      if (!hasFailed) log.error({ err }, `systemd-notify ${message} failed: systemd does not know that guiche runs`)
      hasFailed = true
    }
    isSending = false
  }

  return {
    async ready(): Promise<void> {
      if (!systemd) return
      await send('READY=1')
      if (systemd.watchdogMs === 0) return
      const sign = () => (isSending ? undefined : void send('WATCHDOG=1'))
      setInterval(sign, systemd.watchdogMs / SIGNS_PER_WATCHDOG).unref()
    },
    async stopping(): Promise<void> {
      if (systemd) await send('STOPPING=1')
    },
  }
}
