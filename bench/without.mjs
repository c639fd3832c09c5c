// Loaded by --import into every process of a bench that runs without one technique: edits the build as it is loaded.
import { readFileSync } from 'node:fs'
import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { fileURLToPath } from 'node:url'
import { TECHNIQUES } from './techniques.mjs'

if (isMainThread) register(import.meta.url)

const { edits } = TECHNIQUES.find(({ name }) => name === process.env.GUICHE_BENCH_WITHOUT)

export async function load(url, context, next) {
  const found = edits.filter(([file]) => url.endsWith(`/server/dist/${file}`))
  if (found.length === 0) return next(url, context)
  let source = readFileSync(fileURLToPath(url), 'utf8')
  for (const [file, from, to] of found) {
    if (source.split(from).length !== 2) throw new Error(`${file} does not have this text once: ${from}`)
    source = source.replace(from, () => to)
  }
  return { format: 'module', source, shortCircuit: true }
}
