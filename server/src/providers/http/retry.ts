import { ProviderError } from '../../domain/ports/provider.ts'
import type { Deadline } from './deadline.ts'
import type { Refused, Reply } from './guard.ts'
import type { Timings } from './timings.ts'

/** Retries what is safe to retry, within a deadline. */
export type Retry = {
  /** For an idempotent call. */
  read<Body>(deadline: Deadline, call: () => Promise<Reply<Body>>): Promise<Reply<Body>>
  /**
   * For a change under an id of ours. `settle` may learn the result after a failed attempt, by a lookup for example;
   * undefined: it did not. `inDoubt`: an attempt was sent and its outcome is unknown.
   */
  write<Body>(attempt: WriteAttempt<Body>): Promise<Body>
  errorOf(operation: string, reply: NotOk): ProviderError
}

export type WriteAttempt<Body> = {
  operation: string
  deadline: Deadline
  put: () => Promise<Reply<Body>>
  settle: (reply: NotOk, inDoubt: boolean) => Promise<Body | undefined>
}

export type NotOk = Exclude<Reply<unknown>, { kind: 'ok' }>

export function makeRetry(options: {
  name: string
  timings: Pick<Timings, 'readAttempts' | 'writeAttempts' | 'backoffBaseMs' | 'backoffCapMs'>
  random: () => number
  wait: (ms: number, deadline: Deadline) => Promise<boolean>
}): Retry {
  const { name, timings, random, wait } = options

  /** Waits before the next attempt. False at once when another attempt makes no sense. */
  async function waitToRetry(reply: Reply<unknown>, attempt: number, deadline: Deadline): Promise<boolean> {
    if (reply.kind === 'busy') return wait(reply.retryAfterMs, deadline)
    if (reply.kind !== 'failed' || !reply.isRetryable) return false
    // Full jitter: callers that failed together must not return together.
    const ceilingMs = Math.min(timings.backoffCapMs, timings.backoffBaseMs * 2 ** (attempt - 1))
    return wait(random() * ceilingMs, deadline)
  }

  function errorOf(operation: string, reply: NotOk): ProviderError {
    const text = (why: string) => `${name}: ${operation}: ${why}`
    if (reply.kind === 'refused') return new ProviderError('refused', text(reply.text))
    if (reply.kind === 'busy') return new ProviderError('unreachable', text('too many requests'))
    return new ProviderError(reply.wasSent ? 'unknown' : 'unreachable', text(reply.text), {
      isOverloaded: reply.isOverloaded ?? false,
      isDown: reply.isDown ?? false,
    })
  }

  return {
    errorOf,
    async read(deadline, call) {
      // If one attempt was sent, the request as a whole may have been done.
      let wasSent = false
      for (let attempt = 1; ; attempt++) {
        const reply = await call()
        if (reply.kind === 'failed') reply.wasSent = wasSent ||= reply.wasSent
        if (attempt >= timings.readAttempts || !(await waitToRetry(reply, attempt, deadline))) return reply
      }
    },
    async write({ operation, deadline, put, settle }) {
      // Stays true even if a lookup finds nothing: the request may still be queued at the provider.
      let inDoubt = false
      for (let attempt = 1; ; attempt++) {
        const reply = await put()
        if (reply.kind === 'ok') return reply.body
        inDoubt ||= isLost(reply)
        const settled = await settle(reply, inDoubt)
        if (settled !== undefined) return settled
        if (attempt < timings.writeAttempts && (await waitToRetry(reply, attempt, deadline))) continue
        const error = errorOf(operation, reply)
        throw inDoubt ? new ProviderError('unknown', error.message) : error
      }
    },
  }
}

/** The request was sent and its outcome is unknown. */
export function isLost(reply: Reply<unknown>): boolean {
  return reply.kind === 'failed' && reply.wasSent
}

export function isRefusedWith(reply: Reply<unknown>, statuses: Set<number>): boolean {
  return reply.kind === 'refused' && reply.isFromProvider && statuses.has(reply.status)
}

// With these statuses a provider may mean that the id is taken, perhaps by an earlier attempt of ours.
const MAY_MEAN_TAKEN = new Set([400, 409, 422])
// These words, in Portuguese or English, leave no doubt.
const TAKEN = /duplic|já (existe|utilizad|cadastrad)|already (exist|used)/i

/** The `settle` of a write that creates something. `lookUp` is refused when there is no such thing. */
export function settleCreation<Body>(refusalOf: (reply: Refused) => ProviderError, lookUp: () => Promise<Reply<Body>>) {
  return async (reply: NotOk, inDoubt: boolean): Promise<Body | undefined> => {
    if (reply.kind !== 'refused' && !isLost(reply)) return undefined
    const mayExist = reply.kind !== 'refused' || MAY_MEAN_TAKEN.has(reply.status)
    const found = mayExist ? await lookUp() : undefined
    if (found?.kind === 'ok') return found.body
    if (reply.kind !== 'refused') return undefined
    // After a lost answer a refusal proves nothing: the lost attempt may be its cause, and lookups may lag behind.
    let isKnown = !inDoubt
    // If the provider says that the id is taken, something exists, even if the lookup does not show it yet.
    if (found) isKnown &&= !saysTaken(reply) && found.kind === 'refused'
    const refusal = refusalOf(reply)
    if (isKnown) throw refusal
    throw new ProviderError('unknown', `${refusal.message}; a lookup did not tell whether it exists already`)
  }
}

function saysTaken({ status, text }: Refused): boolean {
  return status === 409 || TAKEN.test(text)
}
