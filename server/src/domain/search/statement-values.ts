/** Collects the parameters of a statement whose conditions depend on what is asked for. */
export type StatementValues = { all: unknown[]; put(value: unknown): string }

export function statementValues(): StatementValues {
  const all: unknown[] = []
  return { all, put: (value) => `$${all.push(value)}` }
}
