/** Builds what changed since the last build. */
export function ensureBuilt(): Promise<void>
