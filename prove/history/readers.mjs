// Four ways to read the history of an account. Each keeps its place and what it read, and goes on by itself after any
// failure, at the next process.

import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const LIST_EVERY_MS = 1_000
const RETRY_MS = 300
const TIMEOUT_MS = 40_000
const CONSUME_RETRY_MS = 60_000

/**
 * `account` has an id and a key, `urls` are those of the processes. `told(position)` is called for each event as it
 * arrives. Returns what was read, in the order in which it arrived.
 */
export function startReader(way, { account, urls, makeGuiche, breach, signal, told = () => {} }) {
  const read = []
  let turn = account.number
  const take = (position, body) => {
    if (position !== read.length + 1) breach(`${way} of ${account.number}: position ${position} after ${read.length}`)
    read.push(body)
    told(position, body)
  }
  const ended = WAYS[way]({
    account,
    nextUrl: () => urls[turn++ % urls.length],
    cursor: () => String(read.length),
    take,
    makeGuiche,
    signal,
    breach,
  })
  return { way, account, read, ended }
}

const WAYS = { list: readPages(0), wait: readPages(10), stream: readStreams, consume }
export const READER_WAYS = Object.keys(WAYS)

function readPages(waitSeconds) {
  return async ({ account, nextUrl, cursor, take, signal, breach }) => {
    while (!signal.aborted) {
      try {
        const url = `${nextUrl()}/api/events?after=${cursor()}&limit=100&wait=${waitSeconds}`
        const answer = await fetch(url, {
          headers: bearer(account),
          signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
        })
        if (answer.status === 409) breach(`a cursor was refused: ${await answer.text()}`)
        if (!answer.ok) throw new Error(`answered ${answer.status}`)
        const { events } = await answer.json()
        for (const { position, ...event } of events) take(position, JSON.stringify(event))
        if (waitSeconds === 0) await pause(LIST_EVERY_MS, signal)
      } catch {
        await pause(RETRY_MS, signal)
      }
    }
  }
}

async function readStreams({ account, nextUrl, cursor, take, signal }) {
  while (!signal.aborted) {
    await readStream({ url: nextUrl(), account, after: cursor(), take, signal }).catch(() => {})
    await pause(RETRY_MS, signal)
  }
}

/** Resolves when the stream ends. `opened` is called when it was admitted. */
export function readStream({ url, account, after, take, signal, opened = () => {} }) {
  return new Promise((resolve, reject) => {
    const headers = { ...bearer(account), 'last-event-id': after }
    const request = get(`${url}/api/events/stream`, { headers, agent: false, signal }, (answer) => {
      if (answer.statusCode !== 200) return reject(new Error(`answered ${answer.statusCode}`))
      opened()
      let rest = ''
      let position
      answer.setEncoding('utf8')
      answer.on('data', (chunk) => {
        const lines = (rest + chunk).split('\n')
        rest = lines.pop()
        for (const line of lines) {
          if (line.startsWith('id: ')) position = Number(line.split('.')[1])
          else if (line.startsWith('data: ')) take(position, line.slice('data: '.length))
        }
      })
      answer.on('error', reject)
      answer.on('close', resolve)
    })
    request.on('error', reject)
  })
}

async function consume({ account, nextUrl, take, makeGuiche, signal, breach }) {
  const onRetry = () => {}
  const guiche = makeGuiche({ url: nextUrl(), key: account.key, retryForMs: CONSUME_RETRY_MS, onRetry })
  await guiche.events
    .consume((event, { position }) => take(position, JSON.stringify(event)), { signal, onError: onRetry })
    .catch((error) => breach(`consume of ${account.number} ended: ${error.message}`))
}

export function bearer({ key }) {
  return { authorization: `Bearer ${key}` }
}

function pause(ms, signal) {
  return sleep(ms, undefined, { signal }).catch(() => {})
}
