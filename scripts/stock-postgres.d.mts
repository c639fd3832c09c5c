/** Tells whether GUICHE_TEST_POSTGRES asks for Debian's PostgreSQL, and not for the one that comes with guiche. */
export function isStockRun(): boolean

/** Makes a database with Debian's programs. A home keeps the version of its database, so it uses them from then on. */
export function makeStockHome(path: string): Promise<void>
