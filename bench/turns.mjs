// Ours and the reference take turns, so that what slows the machine down slows both. Each round is compared by itself,
// and the median of the rounds counts.

/**
 * `sides` maps names to functions that resolve to an object with `perSecond`. Every second round runs in reverse, so no
 * side always follows the same other. A warm-up round does not count.
 */
export async function takeTurns({ rounds, warmUp }, sides) {
  const turns = Object.fromEntries(Object.keys(sides).map((name) => [name, []]))
  for (let round = warmUp ? 0 : 1; round <= rounds; round++) {
    const inOrder = Object.entries(sides)
    const isReversed = round > 0 && round % 2 === 0
    for (const [name, work] of isReversed ? inOrder.toReversed() : inOrder) {
      const result = await work()
      if (round > 0) turns[name].push(result)
    }
  }
  return turns
}

/** Compares our turns with the reference's, for the table. */
export function compare(turns) {
  const ratios = turns.ours.map((turn, round) => turn.perSecond / turns.reference[round].perSecond)
  return {
    ours: summarize(turns.ours),
    reference: summarize(turns.reference),
    ratio: median(ratios),
    ratioRange: [Math.min(...ratios), Math.max(...ratios)],
  }
}

/** Returns the median rate of one side, its range, and the other figures of the turn in the middle. */
function summarize(turns) {
  const sorted = turns.toSorted((a, b) => a.perSecond - b.perSecond)
  return {
    ...sorted[Math.floor(sorted.length / 2)],
    perSecond: median(turns.map(({ perSecond }) => perSecond)),
    range: [sorted[0].perSecond, sorted.at(-1).perSecond],
  }
}

function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export function percentile(numbers, share) {
  return numbers.toSorted((a, b) => a - b)[Math.min(numbers.length - 1, Math.floor(numbers.length * share))]
}
