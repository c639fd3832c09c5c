import { ProviderError } from '../../domain/ports/provider.ts'
import type { Deadline } from './deadline.ts'
import type { Refused, Reply } from './guard.ts'

export type RepeatBounds = {
  backoffBaseMs: number
  backoffCapMs: number
  readAttempts: number
  writeAttempts: number
}

/** Repeats what is safe to repeat, within a deadline. */
export type Repeat = {
  /** A call that changes nothing, or nothing more the second time. */
  read<Body>(deadline: Deadline, call: () => Promise<Reply<Body>>): Promise<Reply<Body>>
  /** A call that makes something under an id of ours, so that it can be repeated, and be asked for when its answer is lost. */
  write<Body>(operation: string, deadline: Deadline, steps: WriteSteps<Body>): Promise<Body>
  /** After this reply to this attempt: waits as long as it takes and says true, or says false at once when another try is pointless. */
  again(reply: Reply<unknown>, attempt: number, deadline: Deadline): Promise<boolean>
  /** The error in which a reply other than 'ok' ends. */
  errorOf(operation: string, reply: NotOk): ProviderError
}

export type NotOk = Exclude<Reply<unknown>, { kind: 'ok' }>

export type WriteSteps<Body> = {
  put: () => Promise<Reply<Body>>
  /** Asks for it; `refused` with 404 says that it is not there. */
  look: () => Promise<Reply<Body>>
}

// With these a provider may mean that the id is taken, and what holds it may be what an earlier call of ours made.
const MAY_MEAN_TAKEN = new Set([400, 409, 422])
// And in these words it surely does, in Portuguese or English.
const TAKEN = /duplic|já (existe|utilizad|cadastrad)|already (exist|used)/i

export function makeRepeat(options: {
  name: string
  bounds: RepeatBounds
  random: () => number
  wait: (ms: number, deadline: Deadline) => Promise<boolean>
}): Repeat {
  const { name, bounds, random, wait } = options
  const repeat: Repeat = {
    async read(deadline, call) {
      // Once sent, "surely not done" is no longer true, whatever becomes of the later attempts.
      let sent = false
      for (let attempt = 1; ; attempt++) {
        const reply = await call()
        if (reply.kind === 'failed') reply.sent = sent ||= reply.sent
        if (attempt >= bounds.readAttempts || !(await repeat.again(reply, attempt, deadline))) return reply
      }
    },
    write: (operation, deadline, steps) =>
      write(repeat, { operation, deadline, steps, attempts: bounds.writeAttempts }),
    async again(reply, attempt, deadline) {
      if (reply.kind === 'busy') return wait(reply.retryAfterMs, deadline)
      if (reply.kind !== 'failed' || !reply.again) return false
      // Full jitter: callers that failed together must not come back together.
      const ceilingMs = Math.min(bounds.backoffCapMs, bounds.backoffBaseMs * 2 ** (attempt - 1))
      return wait(random() * ceilingMs, deadline)
    },
    errorOf(operation, reply) {
      const text = (why: string) => `${name}: ${operation}: ${why}`
      if (reply.kind === 'refused') return new ProviderError('refused', text(reply.text))
      if (reply.kind === 'busy') return new ProviderError('unreachable', text('too many requests'))
      return new ProviderError(reply.sent ? 'unknown' : 'unreachable', text(reply.text), {
        isOverloaded: reply.isOverloaded ?? false,
      })
    },
  }
  return repeat
}

/** A 404 in the provider's own words. One that a proxy made up (a wrong base URL, a deploy under way) is not taken for an absence. */
export function saysAbsent(reply: Reply<unknown>): boolean {
  return reply.kind === 'refused' && reply.status === 404 && reply.isFromProvider
}

async function write<Body>(
  repeat: Repeat,
  work: { operation: string; deadline: Deadline; steps: WriteSteps<Body>; attempts: number },
): Promise<Body> {
  const { operation, deadline, steps } = work
  // Set when a request went out and nobody told what became of it. It stays set even if a look finds nothing: the request may still lie
  // in some queue on the far side.
  let inDoubt = false
  let last: NotOk | undefined
  for (let attempt = 1; attempt <= work.attempts; attempt++) {
    const put = await steps.put()
    if (put.kind === 'ok') return put.body
    last = put
    if (put.kind === 'refused') return settleRefusal(repeat, { operation, put, look: steps.look, inDoubt })
    if (put.kind === 'failed' && put.sent) {
      inDoubt = true
      const found = await steps.look()
      if (found.kind === 'ok') return found.body
    }
    if (attempt === work.attempts || !(await repeat.again(put, attempt, deadline))) break
  }
  const error = repeat.errorOf(operation, last!)
  throw inDoubt ? new ProviderError('unknown', error.message) : error
}

function saysTaken({ status, text }: Refused): boolean {
  return status === 409 || TAKEN.test(text)
}

async function settleRefusal<Body>(
  repeat: Repeat,
  refused: { operation: string; put: Refused; look: () => Promise<Reply<Body>>; inDoubt: boolean },
): Promise<Body> {
  const refusal = repeat.errorOf(refused.operation, refused.put)
  // Refused for another reason than the request itself (our access, say), it tells nothing about the earlier one that is in doubt.
  let known = !refused.inDoubt
  if (MAY_MEAN_TAKEN.has(refused.put.status)) {
    const found = await refused.look()
    if (found.kind === 'ok') return found.body
    // Something has the id, they say. That it is not shown to us a moment later does not make it nothing. Nor does it after a lost answer: what that one
    // made may be why this one is refused, and lookups may lag behind.
    known &&= !saysTaken(refused.put) && found.kind === 'refused'
  }
  if (known) throw refusal
  throw new ProviderError('unknown', `${refusal.message}; whether it is there already could not be learnt`)
}
