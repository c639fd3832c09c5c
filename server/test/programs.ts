import { execFileSync } from 'node:child_process'

/** Whether a program that checks our files is on this machine. Where it is not, the tests that need it are skipped. */
export function isInstalled(program: string, question = '--version'): boolean {
  try {
    execFileSync(program, [question], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
