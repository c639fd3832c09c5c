import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { freePort } from '../../scripts/free-port.mjs'
import { patience } from '../../scripts/patience.ts'
import { copyPreparedHome } from '../../scripts/prepared-home.mjs'

/** The built service in sandbox mode, as `npx guiche start` runs it. `key` is that of its demo account. */
export type GuicheProcess = { url: string; key: string; bankUrl: string; home: string }

type Output = { write(text: string): void }
type RunCommand = (
  args: string[],
  terminal: {
    stdout: Output
    stderr: Output
    readInput(): Promise<string>
    env: Record<string, string>
    start(): Promise<never>
  },
) => Promise<number>

declare module 'vitest' {
  export interface ProvidedContext {
    guiche: GuicheProcess
  }
}

const CLI = fileURLToPath(new URL('../../server/bin/guiche.mjs', import.meta.url))
const COMMANDS = new URL('../../server/dist/commands/program.js', import.meta.url).href
const START_WITHIN_MS = 120_000

export default async function setup(project: TestProject) {
  const place = mkdtempSync(join(tmpdir(), 'guiche-sdk-'))
  // The database runs as its own user if the tests run as root, and it must reach this folder.
  chmodSync(place, 0o755)
  const home = join(place, 'home')
  await copyPreparedHome(home)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  // Payment links lead to the origin that tests ask, so that <guiche-pix> takes them for its own.
  const settings = {
    PUBLIC_URL: url,
    REFUNDS_BY_ACCOUNTS: 'true',
    WEBHOOK_ALLOW_HTTP: 'true',
    RATE_LIMIT_PER_SECOND: '0',
  }
  const child = spawn(process.execPath, [CLI, 'start'], {
    env: { ...envOf(home), PORT: String(port), ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const until = Date.now() + START_WITHIN_MS * patience()
  const said = (pattern: RegExp) => pattern.exec(output)?.[1]
  while (!said(/(Create a deposit)/)) {
    if (child.exitCode !== null || Date.now() > until) throw new Error(`guiche did not start: ${output}`)
    await sleep(20)
  }
  const [key = '', bankUrl = ''] = [said(/API key: (\S+)/), said(/Sandbox bank +(\S+)/)]
  project.provide('guiche', { url, key, bankUrl, home })
  return async () => {
    child.kill('SIGTERM')
    await exited
    rmSync(place, { recursive: true, force: true })
  }
}

/** The key of a new account, for tests that look at everything an account has. */
export async function createAccount({ home }: GuicheProcess, email: string): Promise<string> {
  // In this process: two of their own take longer than most tests.
  const { runCommand } = (await import(COMMANDS)) as { runCommand: RunCommand }
  const run = async (...args: string[]) => {
    const output = { stdout: '', stderr: '' }
    const code = await runCommand([...args, '--email', email], {
      stdout: { write: (text) => (output.stdout += text) },
      stderr: { write: (text) => (output.stderr += text) },
      readInput: async () => '',
      env: envOf(home),
      start: () => Promise.reject(new Error('the service is running')),
    })
    if (code !== 0) throw new Error(`guiche ${args.join(' ')}: ${output.stderr}`)
    return output.stdout
  }
  await run('account', 'create')
  return (await run('key', 'create', '--name', 'test')).trim()
}

function envOf(home: string): Record<string, string> {
  const { PATH = '', HOME = '', TMPDIR = tmpdir() } = process.env
  return { PATH, HOME, TMPDIR, GUICHE_HOME: home }
}
