import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

/** The operating system's user that a process runs as. */
export type Owner = { uid: number; gid: number; name: string }

export type Ran = { ok: boolean; output: string }

/** How often a change of another process is looked for: well below what a person notices, and it costs one small read. */
export const POLL_MS = 10

/** Runs a program to its end and keeps what it said; never throws for what the program did. */
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
      // In a session of its own, Ctrl-C at the terminal reaches us alone: a program that is cut off leaves half of its work.
      detached: true,
      ...identity(options.owner),
    })
    child.stdout.on('data', (text: Buffer) => (output += text.toString()))
    child.stderr.on('data', (text: Buffer) => (output += text.toString()))
    // A program that ends before it read its input is judged by its exit code, not by the broken pipe.
    child.stdin.on('error', () => {})
    child.stdin.end(options.input ?? '')
    child.once('error', (error) => resolve({ ok: false, output: error.message }))
    child.once('close', (code, signal) => {
      if (code !== 0) output += code === null ? `\n(ended by ${signal})` : `\n(exit code ${code})`
      resolve({ ok: code === 0, output: output.trim() })
    })
  })
}

/** The part of spawn's options that makes the child another user; nothing when we are that user already. */
export function identity(owner: Owner | undefined): { uid?: number; gid?: number } {
  return owner && process.getuid?.() === 0 ? { uid: owner.uid, gid: owner.gid } : {}
}

/** PostgreSQL reads PGPORT, PGDATA and the locale from its environment: it gets none of ours. */
export function quietEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
}

/** Whether a signal could be sent, in the kernel's eyes: true for zombies and for other users' processes too. */
export function hasPid(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/** Asks again and again until the answer is not undefined, or the time is up. */
export async function poll<T>(timeoutMs: number, ask: () => Promise<T | undefined> | T | undefined) {
  for (const deadline = performance.now() + timeoutMs; ; await sleep(POLL_MS)) {
    const answer = await ask()
    if (answer !== undefined || performance.now() > deadline) return answer
  }
}

/** The system's or PostgreSQL's code of an error, or nothing. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** The last lines of a program's output on one line, for an error message. */
export function tail(output: string, lines = 4): string {
  return output.trim().split('\n').filter(Boolean).slice(-lines).join(' | ')
}
