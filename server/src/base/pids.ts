import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

const HAS_PROC = existsSync('/proc/self/stat')

/**
 * When a process started, or undefined if it is gone. A pid may be reused; a pid with its start is unique. A zombie
 * counts as gone.
 */
export function startOf(pid: number): string | undefined {
  if (HAS_PROC) {
    const stat = read(`/proc/${pid}/stat`)
    // The name in brackets may hold spaces, so fields are counted from the last bracket.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state, start] = [fields?.[0], fields?.[19]]
    return state === 'Z' || state === 'X' ? undefined : start
  }
  const [state, ...start] = ps(pid, 'stat=,lstart=').trim().split(/\s+/)
  return !state || state.startsWith('Z') ? undefined : start.join('_').replaceAll(':', '.')
}

/** Words are separated by NUL, or by spaces where the system has no better form. */
export function commandOf(pid: number): string {
  return HAS_PROC ? (read(`/proc/${pid}/cmdline`) ?? '') : ps(pid, 'command=').trim()
}

function ps(pid: number, columns: string): string {
  try {
    return execFileSync('ps', ['-o', columns, '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {
    return ''
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
