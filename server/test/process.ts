import { spawn, type ChildProcess, type ChildProcessByStdio, type SpawnOptions } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { inject, onTestFinished } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import { runCommand } from '../src/commands/program.ts'
import { CHILDREN, copyHome, end, endDatabase } from './cluster.ts'
import { until } from './world.ts'

export const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url))

export type ServerProcess = {
  url: string
  output(): string
  signal(signal: NodeJS.Signals): void
  /** Resolves to the exit code, or the signal, when the process is gone. */
  end(signal: NodeJS.Signals): Promise<number | string>
}

/**
 * Starts a program that ends with the test, together with everything that it starts: it leads a process group. The
 * group is noted, so that the end of the run can end it if the test could not.
 */
export function startChild(
  program: string,
  args: string[],
  options: SpawnOptions & { stdio: ['pipe', 'pipe', 'pipe'] },
): ChildProcessByStdio<Writable, Readable, Readable>
export function startChild(
  program: string,
  args: string[],
  options: SpawnOptions & { stdio: ['ignore', 'pipe', 'pipe'] },
): ChildProcessByStdio<null, Readable, Readable>
export function startChild(program: string, args: string[], options: SpawnOptions): ChildProcess
export function startChild(program: string, args: string[], options: SpawnOptions): ChildProcess {
  const child = spawn(program, args, { ...options, detached: true })
  const { pid } = child
  if (pid === undefined) return child
  const note = join(inject('scratch'), CHILDREN, String(pid))
  writeFileSync(note, '')
  const gone = once(child, 'exit')
  onTestFinished(async () => {
    end(-pid, 'SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await gone
    rmSync(note)
  })
  return child
}

/**
 * The built service in a process of its own, as `npm start` runs it. Killed at the end of the test if it still lives.
 * Without PORT it gets a port that is free.
 */
export async function startServer(env: Record<string, string>, cli = CLI, args: string[] = []): Promise<ServerProcess> {
  const { PORT = String(await freePort()) } = env
  const child = startChild(process.execPath, [cli, 'start', ...args], {
    env: { ...cleanEnv(), ...env, PORT },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const url = `http://127.0.0.1:${PORT}`
  await until(
    `the server is ready; it said: ${output}`,
    async () => {
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}: ${output}`)
      return fetch(`${url}/readyz`)
        .then((response) => response.ok)
        .catch(() => false)
    },
    120_000,
  )
  return {
    url,
    output: () => output,
    signal: (signal) => void child.kill(signal),
    async end(signal) {
      child.kill(signal)
      return exited
    },
  }
}

export type Ran = { code: number; stdout: string; stderr: string }

/** Runs a command to its end, in this process. Use runProcess for what only a process of its own shows. */
export async function runCli(args: string[], env: Record<string, string>, input = ''): Promise<Ran> {
  const output = { stdout: '', stderr: '' }
  const code = await runCommand(args, {
    stdout: { write: (text) => (output.stdout += text) },
    stderr: { write: (text) => (output.stderr += text) },
    readInput: async () => input,
    env: { ...cleanEnv(), ...env },
    start: () => Promise.reject(new Error('the service starts in a process of its own: use startServer or runProcess')),
  })
  return { code, ...output }
}

/** Runs the built command to its end, in a process of its own. */
export async function runProcess(args: string[], env: Record<string, string>, input = '', cli = CLI): Promise<Ran> {
  const child = startChild(process.execPath, [cli, ...args], {
    env: { ...cleanEnv(), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()))
  child.stdin.end(input)
  const [code] = (await once(child, 'close')) as [number]
  return { code, ...output }
}

/** An empty home that the database's own user can reach also when the test runs as root. */
export function temporaryHome(): string {
  const home = newHome()
  mkdirSync(home)
  chmodSync(home, 0o755)
  return home
}

/** A home as a first start leaves it: with a migrated database that does not run, and no account. */
export function preparedHome(): string {
  const home = newHome()
  copyHome(inject('scratch'), home)
  return home
}

/** The path of a home that is removed after the test. A database that still runs in it is ended. */
function newHome(): string {
  const home = join(inject('scratch'), `home-${randomBytes(6).toString('hex')}`)
  onTestFinished(async () => {
    await endDatabase(home)
    rmSync(home, { recursive: true, force: true })
  })
  return home
}

/** The variables that programs need, and none of the developer's own settings. */
function cleanEnv(): Record<string, string> {
  const { PATH = '', HOME = '', TMPDIR } = process.env
  return { PATH, HOME, ...(TMPDIR && { TMPDIR }) }
}
