import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { until } from './world.ts'

const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url))

export type ServerProcess = {
  url: string
  output(): string
  signal(signal: NodeJS.Signals): void
  /** Resolves to the exit code, or the signal, when the process is gone. */
  end(signal: NodeJS.Signals): Promise<number | string>
}

/** The built service in a process of its own, as `npm start` runs it. Killed at the end of the test if it still lives. */
export async function startServer(env: Record<string, string>, cli = CLI): Promise<ServerProcess> {
  const port = await freePort()
  const child = spawn(process.execPath, [cli, 'start'], {
    env: { ...cleanEnv(), PORT: String(port), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    return exited
  }
  onTestFinished(async () => void (await end('SIGKILL')))
  const url = `http://127.0.0.1:${port}`
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
  return { url, output: () => output, signal: (signal) => void child.kill(signal), end }
}

/** Killed at the end of the test if it still runs. */
export function spawnCli(args: string[], env: Record<string, string>) {
  const child = spawn(process.execPath, [CLI, ...args], { env: { ...cleanEnv(), ...env }, stdio: 'pipe' })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Runs a command to its end. */
export async function runCli(
  args: string[],
  env: Record<string, string>,
  input = '',
): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawnCli(args, env)
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()))
  child.stdin.end(input)
  const [code] = (await once(child, 'close')) as [number]
  return { code, ...output }
}

/** A home that the database's own user can reach also when the test runs as root. */
export function temporaryHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'guiche-home-'))
  chmodSync(home, 0o755)
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  return home
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** What the machine needs, and none of the developer's own settings. */
function cleanEnv(): Record<string, string> {
  const { PATH = '', HOME = '', TMPDIR } = process.env
  return { PATH, HOME, ...(TMPDIR && { TMPDIR }) }
}
