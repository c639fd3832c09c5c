type Env = Record<string, string | undefined>

// What begins with these is ours, so a variable of such a name that nobody reads is a mistake.
const OUR_PREFIXES =
  /^(GUICHE|PROVIDER|FEE|VALUE|CHARGE|RECONCILE|REFUNDS?|RATE_LIMIT|WEBHOOK|SANDBOX|DATABASE_(URL|POOL)|TRUST_PROXY|SECRET_KEY)(_|$)/

/** The same variables; notes which ones are asked for, so that no list of their names has to be kept. */
export function noteReads(env: Env, asked: Set<string>): Env {
  return new Proxy(env, {
    get(target, name) {
      if (typeof name === 'string') asked.add(name)
      return Reflect.get(target, name) as string | undefined
    },
  })
}

/** A typing mistake in a name would otherwise leave the default in place without a word. */
export function unreadVariables(env: Env, asked: Set<string>): string[] {
  const unread = Object.keys(env).filter((name) => env[name] && !asked.has(name))
  return unread.toSorted().flatMap((name) => {
    const guess = nearest(name, asked)
    if (guess && !env[guess]) return [`${name} is set, but nothing reads it: did you mean ${guess}?`]
    return OUR_PREFIXES.test(name) ? [`${name} is set, but nothing reads it`] : []
  })
}

/** The known word that a mistyped one most likely stands for, if one is near enough. */
function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = Infinity
  for (const candidate of known) {
    // One slip in a short word, two in a longer one; more and the word is another.
    const bound = candidate.length <= 5 ? 1 : 2
    const distance = editDistance(word, candidate)
    if (distance <= bound && distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

/** Letters to add, leave out, replace or swap with the next one. */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, index) => index)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      row[j] = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1)
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}
