// The processes that the bench starts. Each is ended by its id, also after Ctrl-C or a failure.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { makeAsk } from './questions.mjs'

// The service stops within 40 s; everything else at once.
const END_WITHIN_MS = 45_000

const running = new Set()
let isEnding = false
let fail

/** Sets what happens when a process ends unexpectedly. */
export function onUnexpectedEnd(handler) {
  fail = handler
}

/** Starts one of our own programs. */
export function startProgram(file) {
  const name = `bench/${file}`
  const child = fork(new URL(file, import.meta.url), { serialization: 'advanced' })
  watch(child, name)
  return { pid: child.pid, ask: makeAsk(child, name) }
}

/** Starts any program. */
export function startChild(name, command, args, options) {
  const child = spawn(command, args, options)
  watch(child, name)
  return child
}

/** Runs a program to its end, within a time. Resolves to what it printed; fails unless it succeeds. */
export async function runChild(name, command, args, { withinMs, env, allowedCodes = [0] }) {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  const output = { stdout: '', stderr: '' }
  for (const stream of ['stdout', 'stderr']) child[stream].on('data', (chunk) => (output[stream] += chunk))
  const timer = setTimeout(() => child.kill('SIGKILL'), withinMs)
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  running.delete(child)
  if (!allowedCodes.includes(code))
    throw new Error(`${name} ended with ${code ?? signal}:\n${(output.stderr || output.stdout).slice(-2_000)}`)
  return { code, ...output }
}

/** Ends all processes, the last one started first. */
export async function endAll() {
  isEnding = true
  for (const child of [...running].toReversed()) await endChild(child)
}

async function endChild(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), END_WITHIN_MS)
  await exited
  clearTimeout(timer)
}

function watch(child, name) {
  running.add(child)
  child.once('error', (error) => fail(`${name}: ${error.message}`))
  child.once('exit', (code, signal) => {
    running.delete(child)
    if (!isEnding) fail(`${name} ended with ${code ?? signal}`)
  })
}
