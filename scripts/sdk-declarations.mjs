// Runs after the compiler, and makes the client's declarations readable for every TypeScript from 5.0 on. The compiler
// keeps the specifiers of the sources, which end in .ts, and only newer versions accept these. CommonJS gets copies of
// its own, because for a CommonJS file TypeScript refuses the declarations of a module.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './bootstrap.mjs'

const dist = join(root, 'sdk/dist')
for (const name of readdirSync(dist).filter((file) => file.endsWith('.d.ts'))) {
  const text = readFileSync(join(dist, name), 'utf8')
  const withSpecifiers = (/** @type {string} */ ending) =>
    text.replaceAll(/(['"]\.\/[\w-]+)\.ts(?=['"])/g, `$1.${ending}`)
  writeFileSync(join(dist, name), withSpecifiers('js'))
  writeFileSync(join(dist, name.replace(/\.ts$/, '.cts')), withSpecifiers('cjs'))
}
