// The processes that the bench starts. Each is ended by its id, also after Ctrl-C or a failure.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { makeAsk } from './questions.mjs'

// The service stops within 40 s; everything else at once.
const END_WITHIN_MS = 45_000

const running = new Set()
let isEnding = false

/** Starts one of our own programs, and resolves when it can be asked. A program that ends unasked fails the bench. */
export async function startProgram(file, { args = [], onExit = failBench } = {}) {
  const name = `bench/${file}`
  const child = fork(new URL(`../${file}`, import.meta.url), args, { serialization: 'advanced' })
  watch(child, name, onExit)
  const ask = makeAsk(child, name)
  return { pid: child.pid, ask, stop: () => endChild(child) }
}

/** Starts any program. */
export function startChild(name, command, args, options, onExit = failBench) {
  const child = spawn(command, args, options)
  watch(child, name, onExit)
  return child
}

/** Runs a program to its end, within a time. Resolves to what it printed; fails unless it succeeds. */
export async function runChild(name, command, args, { withinMs, env, uid, gid, allowedCodes = [0] }) {
  const child = spawn(command, args, { env: env ?? process.env, stdio: ['ignore', 'pipe', 'pipe'], uid, gid })
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

export async function endChild(child) {
  running.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), END_WITHIN_MS)
  await exited
  clearTimeout(timer)
}

/** Ends all of them, the last one started first. */
export async function endAll() {
  isEnding = true
  for (const child of [...running].toReversed()) await endChild(child)
}

function watch(child, name, onExit) {
  running.add(child)
  child.once('error', (error) => onExit(`${name}: ${error.message}`))
  child.once('exit', (code, signal) => {
    const isUnasked = running.delete(child) && !isEnding
    if (isUnasked) onExit(`${name} ended with ${code ?? signal}`)
  })
}

let fail = (text) => {
  throw new Error(text)
}

function failBench(text) {
  fail(text)
}

/** What happens when a process ends unasked. */
export function onUnexpectedEnd(handler) {
  fail = handler
}
