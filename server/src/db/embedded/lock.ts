import { tryLock, waitToRetry } from '../../base/directory-lock.ts'
import { OperatorError } from '../../base/operator-error.ts'

const SAY_AFTER_MS = 1_000

export async function withHomeLock<T>(
  options: { home: string; waitMs: number; say: (line: string) => void },
  work: () => Promise<T>,
): Promise<T> {
  const { home, waitMs, say } = options
  const began = performance.now()
  for (let said = false; ; await waitToRetry()) {
    const lock = await tryLock(home)
    if ('release' in lock) {
      try {
        return await work()
      } finally {
        await lock.release()
      }
    }
    const { pid } = lock.heldBy
    const waitedMs = performance.now() - began
    if (waitedMs > waitMs)
      throw new OperatorError(`The process ${pid} has been starting or stopping the database in ${home} for too long`)
    if (!said && waitedMs > SAY_AFTER_MS) {
      said = true
      say(`Waiting for the process ${pid}, which starts or stops the database…`)
    }
  }
}
