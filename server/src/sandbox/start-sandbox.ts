import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Answer, Call } from './answer.ts'
import { pay, setFaults, showPayment, type Payment, type PayOrder } from './bank.ts'
import { BANK_LIST, type Bank } from './banks.ts'
import type { Faults } from './faults.ts'
import type { Psp } from './psp.ts'
import { reverse, settleRefunds, type ReturnOrder } from './refunds.ts'
import { openSandbox, type Sandbox } from './server.ts'

// What `@guiche/sandbox` exports: the bank for one test, in the process of that test.

export type { Bank, Faults, Payment, PayOrder, ReturnOrder }

export type StartOptions = {
  /** Behaves as this bank, and refuses every other way of being called. Without it, any way is taken. */
  as?: Bank
  /** Any free port by default. */
  port?: number
  /** The bank's clock, which `advance` puts forward. The clock of this machine by default. */
  clock?: () => Date
}

const UNIT_MS = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds, or a text such as `'90s'`, `'15min'`, `'2h'`, `'1d'`. */
export type Duration = number | `${number}${keyof typeof UNIT_MS}`

export type TestBank = {
  /** Of API Pix, and of `/bank`. With `as`, API Pix is at `customer.url`. */
  url: string
  /** With `as`: the addresses of API Pix, and the files of the client certificate. */
  customer?: NonNullable<Sandbox['customer']>
  /** Pays as a payer would. Rejects with the reason if a payer could not. */
  pay(order: PayOrder): Promise<Payment[]>
  /** Returns a Pix to its payer by itself, as banks do after a report of fraud. */
  reverse(order: ReturnOrder): Promise<void>
  /** Misbehaves from now on; `fault({})` heals. */
  fault(faults: Faults): void
  /** Every Pix that was made, oldest first. */
  payments(): Payment[]
  /** Puts the clock forward: charges expire, refunds settle, and notifications that are due by then go out. */
  advance(duration: Duration): Promise<void>
  /** Ends the bank. It keeps nothing. */
  close(): Promise<void>
}

export async function startSandbox({ as, port = 0, clock = () => new Date() }: StartOptions = {}): Promise<TestBank> {
  if (as !== undefined && !BANK_LIST.includes(as)) throw new Error(`As must be one of ${BANK_LIST.join(', ')}`)
  const home = await mkdtemp(join(tmpdir(), 'guiche-sandbox-'))
  const removeHome = () => rm(home, { recursive: true, force: true })
  let skippedMs = 0
  const now = () => new Date(clock().getTime() + skippedMs)
  const sandbox = await openSandbox({ home, port, as, now }).catch(async (error: unknown) => {
    await removeHome()
    throw error
  })
  const { url, customer, psp } = sandbox
  assert(psp, 'nobody else runs a bank in a new home')
  return {
    url,
    ...(customer && { customer }),
    async pay(order) {
      const { body, seq = 0 } = act(psp, pay, order)
      await psp.journal.durable(seq)
      return (body as { pix: Payment[] }).pix
    },
    async reverse(order) {
      await psp.journal.durable(act(psp, reverse, order).seq ?? 0)
    },
    fault: (faults) => void act(psp, setFaults, faults),
    payments: () => psp.book.pix.map(showPayment),
    async advance(duration) {
      const ms = msOf(duration)
      skippedMs += ms
      settleRefunds(psp)
      await psp.journal.durable(psp.journal.lastSeq())
      await psp.notifier.skip(ms)
    },
    async close() {
      await sandbox.stop()
      await removeHome()
    },
  }
}

// As POST and PUT under /bank do it.
function act(psp: Psp, handle: (psp: Psp, call: Call) => Answer, body: unknown): Answer {
  settleRefunds(psp)
  const answer = handle(psp, { params: [], query: '', body, authorization: undefined, isCertified: false })
  if (answer.status >= 400) throw new Error((answer.body as { error: string }).error)
  return answer
}

function msOf(duration: Duration): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|min|h|d)$/.exec(String(duration)) ?? []
  const ms = typeof duration === 'number' ? duration : Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS]
  if (!(ms >= 0)) throw new Error('A duration is milliseconds, or a text such as 90s, 15min, 2h or 1d')
  return ms
}
