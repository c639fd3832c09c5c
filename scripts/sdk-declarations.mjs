// After the compiler: makes the declarations of the client readable for every TypeScript from 5.0 on. The compiler
// leaves the specifiers of the sources in them, which end in .ts and only newer versions accept. CommonJS has copies of
// its own: for a file of that kind TypeScript refuses declarations of a module.

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
