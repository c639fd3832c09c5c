// Ours and the reference take turns, so that what slows the machine down slows both. Each round is compared by itself,
// and the median of the rounds counts.

export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export function percentile(numbers, share) {
  return numbers.toSorted((a, b) => a - b)[Math.min(numbers.length - 1, Math.floor(numbers.length * share))]
}

/**
 * `sides` are functions by name that resolve to an object with `perSecond`. Every second round begins with the last
 * one, so that no side always comes after the same other. A warm-up turn does not count.
 */
export async function takeTurns({ rounds, warmUp, show }, sides) {
  const turns = Object.fromEntries(Object.keys(sides).map((name) => [name, []]))
  for (let round = warmUp ? 0 : 1; round <= rounds; round++) {
    const inOrder = Object.entries(sides)
    for (const [name, work] of round % 2 === 0 ? inOrder.toReversed() : inOrder) {
      show(`${round === 0 ? 'warm-up' : `round ${round} of ${rounds}`}, ${name}`)
      const result = await work(round)
      if (round > 0) turns[name].push(result)
    }
  }
  return turns
}

/** The median rate of one side with its range, and whatever else the turn in the middle says. */
export function summarize(turns) {
  const sorted = turns.toSorted((a, b) => a.perSecond - b.perSecond)
  const { bytes, ...middle } = sorted[Math.floor(sorted.length / 2)]
  return {
    ...middle,
    ...(bytes && { bytesPerAnswer: Math.round(bytes / middle.requests) }),
    perSecond: median(turns.map(({ perSecond }) => perSecond)),
    range: [sorted[0].perSecond, sorted.at(-1).perSecond],
  }
}

/** A measure of ours beside one reference, as the table shows it. */
export function compare(turns) {
  const [ours, reference] = [summarize(turns.ours), summarize(turns.reference)]
  const ratios = ratiosOf(turns.ours, turns.reference)
  return {
    ours: ours.perSecond,
    reference: reference.perSecond,
    ratio: median(ratios),
    ratioRange: [Math.min(...ratios), Math.max(...ratios)],
    details: { ours, reference },
  }
}

/** Round by round. */
export function ratiosOf(turns, others) {
  return turns.map((turn, round) => turn.perSecond / others[round].perSecond)
}

/** What several measures share is made by the first that needs it. */
export function makeOnce() {
  const made = new Map()
  return (make, bench) => {
    if (!made.has(make)) made.set(make, make(bench))
    return made.get(make)
  }
}
