/**
 * Spares a provider that is down, and its callers the wait. Closed: calls go through. After `faults` in a row it opens and calls are refused; after
 * the cool-down one call, the probe, may try (half-open), and its outcome closes or reopens it. Time is handed in.
 */
export type Breaker = {
  /** Leave for one call, which must be given back with its outcome; undefined: not now. */
  enter(): Pass | undefined
  /** Whether enter() would give leave now. */
  mayEnter(): boolean
  state(): BreakerState
}

export type BreakerState = 'closed' | 'open' | 'half-open'

/** 'none' says nothing about the provider: the call never went out, or had no fair chance. */
export type Verdict = 'healthy' | 'faulty' | 'none'
export type Pass = (verdict: Verdict) => void

export function makeBreaker(options: {
  faults: number
  coolDownMs: number
  now: () => Date
  changed: (state: BreakerState) => void
}): Breaker {
  let current: BreakerState = 'closed'
  let faultsInARow = 0
  let openedAtMs = 0
  let probing = false
  // Counts the changes of state, so that a call that began before the last one no longer votes: a slow failure of yesterday must not
  // reopen what the probe has just closed.
  let era = 0

  function become(state: BreakerState) {
    current = state
    era += 1
    faultsInARow = 0
    probing = false
    if (state === 'open') openedAtMs = options.now().getTime()
    options.changed(state)
  }

  // The distance and not the difference: a clock that was set back must not keep it open for as long as that.
  function coolEnough() {
    return Math.abs(options.now().getTime() - openedAtMs) >= options.coolDownMs
  }

  function judge(verdict: Verdict) {
    if (verdict === 'none') probing = false
    else if (verdict === 'healthy') {
      if (current === 'half-open') become('closed')
      else faultsInARow = 0
    } else {
      faultsInARow += 1
      if (current === 'half-open' || faultsInARow >= options.faults) become('open')
    }
  }

  function mayEnter() {
    return current === 'closed' || (current === 'open' ? coolEnough() : !probing)
  }

  return {
    mayEnter,
    enter() {
      if (!mayEnter()) return undefined
      if (current === 'open') become('half-open')
      if (current === 'half-open') probing = true
      const entered = era
      let given = false
      return (verdict) => {
        if (given || entered !== era) return
        given = true
        judge(verdict)
      }
    },
    state: () => (current === 'open' && coolEnough() ? 'half-open' : current),
  }
}
