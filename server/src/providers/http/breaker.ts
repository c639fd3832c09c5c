/**
 * A circuit breaker. Closed: calls go through. It opens after `failures` in a row and refuses calls. After the
 * cool-down it lets one call through, the probe (half-open), whose outcome closes or reopens it.
 */
export type Breaker = {
  /** Admits one call, which must report its verdict; undefined: refused. */
  enter(): Report | undefined
  mayEnter(): boolean
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
  onChange: (state: BreakerState) => void
}): Breaker {
  let current: BreakerState = 'closed'
  let failuresInARow = 0
  let openedAtMs = 0
  let isProbing = false
  // Counts changes of state. A slow call that began before the last change no longer counts.
  let generation = 0

  function change(state: BreakerState) {
    current = state
    generation += 1
    failuresInARow = 0
    isProbing = false
    if (state === 'open') openedAtMs = options.now().getTime()
    options.onChange(state)
  }

  // The absolute distance: a clock that is set back must not keep the breaker open.
  const isCool = () => Math.abs(options.now().getTime() - openedAtMs) >= options.coolDownMs
  const mayEnter = () => current === 'closed' || (current === 'open' ? isCool() : !isProbing)

  function count(verdict: Verdict) {
    if (verdict === 'none') isProbing = false
    else if (verdict === 'healthy') {
      if (current === 'half-open') change('closed')
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
    state: () => (current === 'open' && isCool() ? 'half-open' : current),
  }
}
