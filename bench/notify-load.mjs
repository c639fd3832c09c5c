// Posts notifications as a bank does: so many Pix in each, as fast as they are answered or at a rate.
import { setTimeout as sleep } from 'node:timers/promises'
import { answerQuestions } from './stage/questions.mjs'
import { expectOk, makeClient } from './stage/raw-http.mjs'

answerQuestions({
  /** As fast as they are answered. Resolves to when the first was posted, and how fast they were answered. */
  async post({ url, payments, perPost, connections }) {
    const { client, path, bodies } = prepare({ url, payments, perPost, connections })
    const beganAt = Date.now()
    const beganMs = performance.now()
    await Promise.all(bodies.map((body) => expectOk(client.post(path, body))))
    const tookMs = performance.now() - beganMs
    client.close()
    return { beganAt, tookMs, requests: bodies.length, perSecond: (bodies.length * 1000) / tookMs }
  },
  /** At so many payments a second, whether or not they are answered. Resolves to when each payment was posted. */
  async pace({ url, payments, perPost, connections, perSecond }) {
    const { client, path, bodies } = prepare({ url, payments, perPost, connections })
    const beganMs = performance.now()
    const posts = []
    const postedAt = []
    for (const [index, body] of bodies.entries()) {
      const dueMs = beganMs + (index * perPost * 1000) / perSecond
      if (dueMs > performance.now()) await sleep(dueMs - performance.now())
      postedAt.push(Date.now())
      posts.push(expectOk(client.post(path, body)))
    }
    await Promise.all(posts)
    client.close()
    return { postedAt }
  },
})

function prepare({ url, payments, perPost, connections }) {
  const { origin, pathname } = new URL(url)
  const bodies = []
  for (let at = 0; at < payments.length; at += perPost) bodies.push(bodyOf(payments.slice(at, at + perPost)))
  return { client: makeClient(origin, { connections }), path: pathname, bodies }
}

function bodyOf(payments) {
  const pix = payments.map(({ endToEndId, txid, at }) => ({ endToEndId, txid, valor: '50.00', horario: at }))
  return JSON.stringify({ pix })
}
