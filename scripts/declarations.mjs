// Runs after the compiler, and makes the declarations of a package readable for every TypeScript from 5.0 on:
// `node scripts/declarations.mjs sdk/dist`. The compiler keeps the specifiers of the sources, which end in .ts, and
// only newer versions accept these. CommonJS gets copies of its own, because for a CommonJS file TypeScript refuses
// the declarations of a module.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './bootstrap.mjs'

const dist = join(root, process.argv[2] ?? '')
for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.d.ts'))) {
  const text = readFileSync(join(dist, name), 'utf8')
  const withSpecifiers = (/** @type {string} */ ending) =>
    text.replaceAll(/(['"]\.\.?\/[\w/-]+)\.ts(?=['"])/g, `$1.${ending}`)
  writeFileSync(join(dist, name), withSpecifiers('js'))
  writeFileSync(join(dist, name.replace(/\.ts$/, '.cts')), withSpecifiers('cjs'))
}
