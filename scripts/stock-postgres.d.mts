/** GUICHE_TEST_POSTGRES asks that tests use Debian's PostgreSQL, and not the one that comes with guiche. */
export function isStockRun(): boolean

/** Makes a database by Debian's programs. A home keeps the version of its database, so it runs by them from then on. */
export function makeStockHome(path: string): Promise<void>
