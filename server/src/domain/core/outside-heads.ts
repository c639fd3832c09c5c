import { randomUUID } from 'node:crypto'
import { appendFile, mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** The newest head, kept where the database does not reach: who changes the database cannot make us contradict it. */
export type OutsideHeads = {
  newest(): Promise<string | undefined>
  /** Resolves when it is on disk. */
  keep(note: string): Promise<void>
}

const FILE = 'history-head.txt'

/** `anchorFile` gets every head, one after the other: for a disk that cannot be rewritten, or a copy elsewhere. */
export function makeOutsideHeads(home: string, anchorFile?: string): OutsideHeads {
  const path = join(home, FILE)
  let kept: string | undefined
  return {
    newest: () => readFile(path, 'utf8').catch(undefinedIfAbsent),
    async keep(note) {
      if (note === kept) return
      await mkdir(home, { recursive: true })
      await replaceFile(path, note)
      if (anchorFile !== undefined) await appendFile(anchorFile, `${note}\n`, { flush: true })
      kept = note
    },
  }
}

/** Whole or not at all, also after a power failure. */
async function replaceFile(path: string, text: string): Promise<void> {
  const written = `${path}.${randomUUID()}`
  const file = await open(written, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(written, path)
  const folder = await open(dirname(path))
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

function undefinedIfAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
