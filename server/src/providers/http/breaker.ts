/**
 * A circuit breaker. Closed: calls go through. It opens after `failures` in a row and refuses calls. After the
 * cool-down it lets one call through, the probe (half-open), whose outcome closes or reopens it.
 */
export type Breaker = {
  /** Admits one call, which must report its verdict; undefined: refused. */
  enter(): Report | undefined
  mayEnter(): boolean
  /**
   * Another process opened its breaker, and so much of its cool-down is left. This one opens too, unless its own calls
   * succeed: then perhaps only the connection of the other process is broken.
   */
  openWithOther(forMs: number): void
  state(): BreakerState
}

export type BreakerState = 'closed' | 'open' | 'half-open'

/** 'none' says nothing about the provider: the call was not sent, or its time-out was too short. */
export type Verdict = 'healthy' | 'faulty' | 'none'
export type Report = (verdict: Verdict) => void

export function makeBreaker(options: {
  failures: number
  coolDownMs: number
  now: () => Date
  /** `isOwn` is false if only another process found the provider down. */
  onChange: (state: BreakerState, isOwn: boolean) => void
}): Breaker {
  let current: BreakerState = 'closed'
  let failuresInARow = 0
  let openedAtMs = 0
  let healthyAtMs = -Infinity
  let isProbing = false
  // Counts changes of state. A slow call that began before the last change no longer counts.
  let generation = 0

  const nowMs = () => options.now().getTime()

  function change(state: BreakerState) {
    current = state
    generation += 1
    failuresInARow = 0
    isProbing = false
    if (state === 'open') openedAtMs = nowMs()
    options.onChange(state, true)
  }

  // The absolute distance: a clock that is set back must not keep the breaker open.
  const isCool = () => Math.abs(nowMs() - openedAtMs) >= options.coolDownMs
  const mayEnter = () => current === 'closed' || (current === 'open' ? isCool() : !isProbing)

  function count(verdict: Verdict) {
    if (verdict === 'none') isProbing = false
    else if (verdict === 'healthy') {
      healthyAtMs = nowMs()
      if (current !== 'closed') change('closed')
      else failuresInARow = 0
    } else {
      failuresInARow += 1
      if (current === 'half-open' || failuresInARow >= options.failures) change('open')
    }
  }

  return {
    mayEnter,
    enter() {
      if (!mayEnter()) return undefined
      if (current === 'open') change('half-open')
      if (current === 'half-open') isProbing = true
      const entered = generation
      let isReported = false
      return (verdict) => {
        if (isReported || entered !== generation) return
        isReported = true
        count(verdict)
      }
    },
    openWithOther(forMs) {
      const succeeds = failuresInARow === 0 && nowMs() - healthyAtMs < options.coolDownMs
      if (current !== 'closed' || succeeds) return
      // Calls in flight keep their vote: one that succeeds closes it.
      current = 'open'
      openedAtMs = nowMs() - Math.max(0, options.coolDownMs - forMs)
      options.onChange('open', false)
    },
    state: () => (current === 'open' && isCool() ? 'half-open' : current),
  }
}
