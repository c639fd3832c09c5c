import { refusal, type Env } from './variables.ts'

// Names that start so are ours, so one that nothing reads is a mistake.
const OUR_PREFIXES =
  /^(GUICHE|PROVIDER|FEE|VALUE|CHARGE|RECONCILE|REFUNDS?|RATE_LIMIT|WEBHOOK|SANDBOX|DATABASE_(URL|READ|POOL)|TRUST_PROXY|SECRET_KEY)(_|$)/

/** Records which variables are read, so that no list of their names has to be kept. */
export function recordReads(env: Env, asked: Set<string>): Env {
  return new Proxy(env, {
    get(target, name) {
      if (typeof name === 'string') asked.add(name)
      return Reflect.get(target, name) as string | undefined
    },
  })
}

/**
 * Warns about misspelled names, and in `.env` about every name that nothing reads. Refuses a misspelled DATABASE_URL:
 * deposits would go to another database.
 */
export function unreadVariables({ env, dotEnv, asked }: { env: Env; dotEnv: Env; asked: Set<string> }): string[] {
  const unread = Object.keys(env).filter((name) => env[name] && !asked.has(name))
  const hasDatabase = Boolean(env['DATABASE_URL'] || env['DATABASE_URL_FILE'])
  return unread.toSorted().flatMap((name) => {
    const guess = nearest(name, asked)
    if (!hasDatabase && /^DATABASE_URL(_FILE)?$/.test(guess ?? ''))
      throw refusal(name, `must be written ${guess}: as it is, guiche would use the embedded database`)
    if (guess && !env[guess]) return [`${name} is set, but nothing reads it: did you mean ${guess}?`]
    if (dotEnv[name]) return [`${name} is set in .env, but nothing reads it`]
    return OUR_PREFIXES.test(name) ? [`${name} is set, but nothing reads it`] : []
  })
}

function nearest(word: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = Infinity
  for (const candidate of known) {
    // One typo in a short name, two in a longer one.
    const bound = candidate.length <= 5 ? 1 : 2
    if (Math.abs(word.length - candidate.length) > bound) continue
    const distance = editDistance(word, candidate)
    if (distance <= bound && distance < bestDistance) [best, bestDistance] = [candidate, distance]
  }
  return best
}

/** Damerau-Levenshtein: letters to insert, delete, replace or swap with the next one. */
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
