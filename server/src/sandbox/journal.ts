import { OperatorError } from '../base/operator-error.ts'
import { writeSync } from 'node:fs'
import { open, readFile, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Entry } from './book.ts'

export type Journal = Awaited<ReturnType<typeof openJournal>>

type Waiter = { seq: number; resolve: () => void; reject: (error: Error) => void }

// One JSON value per line. Lines that arrive during a sync share the next one.
export async function openJournal(path: string) {
  const file = await open(path, 'a')
  await syncDirectory(dirname(path))
  let lines: string[] = []
  let waiters: Waiter[] = []
  let lastSeq = 0
  let durableSeq = 0
  let broken: Error | undefined
  let flushing: Promise<void> | undefined

  // A failed write leaves the file in an unknown state.
  const breakDown = (error: Error) => {
    broken = error
    for (const waiter of waiters) waiter.reject(error)
    waiters = []
    lines = []
  }
  const flush = async () => {
    while (lines.length > 0) {
      const text = lines.join('')
      const upTo = lastSeq
      lines = []
      // Into the page cache: the thread pool would cost more than the write.
      writeFully(file.fd, Buffer.from(text))
      await file.datasync()
      durableSeq = upTo
      const reached = waiters.filter((waiter) => waiter.seq <= upTo)
      waiters = waiters.filter((waiter) => waiter.seq > upTo)
      for (const waiter of reached) waiter.resolve()
    }
  }
  const startFlush = () => {
    // Other requests of this turn of the event loop join the batch.
    flushing ??= new Promise<void>((done) => setImmediate(done))
      .then(flush)
      .catch(breakDown)
      .finally(() => {
        flushing = undefined
        if (lines.length > 0) startFlush()
      })
  }

  return {
    // After a failed write, the number never becomes durable.
    append(entry: Entry): number {
      lastSeq += 1
      if (broken) return lastSeq
      lines.push(JSON.stringify(entry) + '\n')
      startFlush()
      return lastSeq
    },
    lastSeq: () => lastSeq,
    isDurable: (seq: number) => seq <= durableSeq,
    durable(seq: number): Promise<void> {
      if (seq <= durableSeq) return Promise.resolve()
      if (broken) return Promise.reject(broken)
      return new Promise((resolve, reject) => waiters.push({ seq, resolve, reject }))
    },
    async close() {
      for (let under = flushing; under; under = flushing) await under
      broken ??= new Error('The journal is closed')
      await file.close()
    },
  }
}

// A killed process leaves a torn last line, which no answer depended on. A broken line elsewhere is damage.
export async function replayJournal(path: string, apply: (entry: Entry) => void): Promise<void> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0)
    throw error
  })
  const end = bytes.lastIndexOf(0x0a) + 1
  if (end < bytes.length) await truncate(path, end)
  let lines = 0
  let at = 0
  while (at < end) {
    const newline = bytes.indexOf(0x0a, at)
    lines += 1
    apply(parseLine(bytes.toString('utf8', at, newline), { path, line: lines }))
    at = newline + 1
  }
}

function writeFully(fd: number, bytes: Buffer): void {
  let written = 0
  while (written < bytes.length) written += writeSync(fd, bytes, written)
}

function parseLine(text: string, where: { path: string; line: number }): Entry {
  try {
    return JSON.parse(text)
  } catch {
    throw new OperatorError(
      `${where.path} is damaged at line ${where.line}; move the file away to start an empty sandbox`,
    )
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
