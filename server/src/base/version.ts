import { readFileSync } from 'node:fs'

/** Of this guiche, as its package states it. */
export const VERSION: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
