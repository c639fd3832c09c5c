import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

export type Owner = { uid: number; gid: number; name: string }

export type Ran = { ok: boolean; output: string }

const POLL_MS = 10

/** Never rejects. */
export async function run(
  program: string,
  args: string[],
  options: { owner?: Owner | undefined; input?: string; timeoutMs: number },
): Promise<Ran> {
  return new Promise((resolve) => {
    let output = ''
    const child = spawn(program, args, {
      cwd: '/',
      env: quietEnvironment(),
      stdio: ['pipe', 'pipe', 'pipe'],
      timeout: options.timeoutMs,
      killSignal: 'SIGKILL',
      // Ctrl-C does not reach it, so it does not leave half of its work.
      detached: true,
      ...identity(options.owner),
    })
    child.stdout.on('data', (text: Buffer) => (output += text.toString()))
    child.stderr.on('data', (text: Buffer) => (output += text.toString()))
    // The exit code counts, and not a broken pipe.
    child.stdin.on('error', () => {})
    child.stdin.end(options.input ?? '')
    child.once('error', (error) => resolve({ ok: false, output: error.message }))
    child.once('close', (code, signal) => {
      if (code !== 0) output += code === null ? `\n(ended by ${signal})` : `\n(exit code ${code})`
      resolve({ ok: code === 0, output: output.trim() })
    })
  })
}

/** Changes nothing unless we are root. */
export function identity(owner: Owner | undefined): { uid?: number; gid?: number } {
  return owner && process.getuid?.() === 0 ? { uid: owner.uid, gid: owner.gid } : {}
}

export function quietEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
}

/** True for zombies too. */
export function hasPid(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

export async function poll<T>(timeoutMs: number, ask: () => Promise<T | undefined> | T | undefined) {
  for (const deadline = performance.now() + timeoutMs; ; await sleep(POLL_MS)) {
    const answer = await ask()
    if (answer !== undefined || performance.now() > deadline) return answer
  }
}

export async function ifExists<T>(result: Promise<T>): Promise<T | undefined> {
  return result.catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

export function tail(output: string, lines = 4): string {
  return output.trim().split('\n').filter(Boolean).slice(-lines).join(' | ')
}
