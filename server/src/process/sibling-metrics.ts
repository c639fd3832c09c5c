import cluster, { type Worker } from 'node:cluster'
import { Fault } from '../base/fault.ts'
import { withTimeLimit } from '../base/time-limit.ts'

// A scrape reaches one of several processes, so each answers for all of them: it asks their parent, which asks
// everyone. The series have the label `process`. A sum would fall when a process dies, which Prometheus takes for a
// counter that began again.

/** A process that hangs is left out. */
const REPORT_WITHIN_MS = 5_000
const ANSWER_WITHIN_MS = 6_000

/** report: to a process. reported: from it. ask: from the one that was scraped. answer: to it. */
type Message = { guicheMetrics: 'report' | 'reported' | 'ask' | 'answer'; id: number; text: string }

/** In the parent: answers processes that ask. */
export function relayMetrics(nameOf: (worker: Worker) => string): void {
  let reports = 0
  cluster.on('message', (asker, message: unknown) => {
    if (!isMessage(message, 'ask')) return
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
    const reporting = workers.map(async (worker) => ({ name: nameOf(worker), text: await reportOf(worker, ++reports) }))
    void Promise.all(reporting).then((all) => {
      const answer: Message = { guicheMetrics: 'answer', id: message.id, text: mergeMetrics(all) }
      if (asker.isConnected()) asker.send(answer)
    })
  })
}

function reportOf(worker: Worker, id: number): Promise<string> {
  return new Promise((resolve) => {
    const end = (text: string) => {
      clearTimeout(timer)
      worker.off('message', read)
      resolve(text)
    }
    const read = (message: unknown) => {
      if (isMessage(message, 'reported') && message.id === id) end(message.text)
    }
    const timer = setTimeout(() => end(''), REPORT_WITHIN_MS)
    worker.on('message', read)
    const question: Message = { guicheMetrics: 'report', id, text: '' }
    if (worker.isConnected()) worker.send(question)
    else end('')
  })
}

/** In a process: its own metrics, or those of all if a parent runs several. */
export function answerForAll(own: () => Promise<string>): () => Promise<string> {
  if (!cluster.isWorker) return own
  const asked = new Map<number, (text: string) => void>()
  let questions = 0
  process.on('message', (message: unknown) => {
    if (isMessage(message, 'answer')) asked.get(message.id)?.(message.text)
    else if (isMessage(message, 'report'))
      own().then(
        (text) => tell('reported', message.id, text),
        () => {},
      )
  })
  return async () => {
    const id = ++questions
    const answer = new Promise<string>((resolve) => asked.set(id, resolve))
    tell('ask', id, '')
    return withTimeLimit(answer, ANSWER_WITHIN_MS, noAnswer).finally(() => asked.delete(id))
  }
}

function noAnswer(): Fault {
  return new Fault('unavailable', 'The processes of this service do not answer', { retryAfterSeconds: 1 })
}

function tell(guicheMetrics: Message['guicheMetrics'], id: number, text: string): void {
  process.send?.({ guicheMetrics, id, text } satisfies Message)
}

function isMessage(message: unknown, kind: Message['guicheMetrics']): message is Message {
  return typeof message === 'object' && message !== null && 'guicheMetrics' in message && message.guicheMetrics === kind
}

/** All series of one metric stand together. */
export function mergeMetrics(reports: { name: string; text: string }[]): string {
  const families = new Map<string, { head: string[]; samples: string[] }>()
  for (const { name, text } of reports) {
    let family: { head: string[]; samples: string[] } = { head: [], samples: [] }
    let isFirst = false
    for (const line of text.split('\n')) {
      const [, keyword, metric] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? []
      if (keyword === 'HELP') {
        isFirst = !families.has(metric!)
        family = families.get(metric!) ?? { head: [], samples: [] }
        families.set(metric!, family)
      }
      if (keyword !== undefined && isFirst) family.head.push(line)
      else if (keyword === undefined && line !== '') family.samples.push(labelled(line, name))
    }
  }
  return [...families.values()].flatMap(({ head, samples }) => [...head, ...samples, '']).join('\n')
}

function labelled(sample: string, process: string): string {
  return sample.replace(/^(\w+)(?:\{(.*)\})? /, (_, metric: string, labels?: string) => {
    return `${metric}{process="${process}"${labels ? `,${labels}` : ''}} `
  })
}
