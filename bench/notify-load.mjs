// Posts notifications as a bank does: so many Pix in each, as fast as they are answered or at a rate.
import { setTimeout as sleep } from 'node:timers/promises'
import { answerQuestions } from './stage/questions.mjs'
import { expectOk, makeClient } from './stage/raw-http.mjs'

answerQuestions({
  /** As fast as they are answered. Resolves to how fast they were answered. */
  async post({ url, payments, perPost, connections }) {
    const { origin, pathname } = new URL(url)
    const client = makeClient(origin, { connections })
    const bodies = []
    for (let at = 0; at < payments.length; at += perPost) bodies.push(bodyOf(payments.slice(at, at + perPost)))
    const beganMs = performance.now()
    await Promise.all(bodies.map((body) => expectOk(client.post(pathname, body))))
    const tookMs = performance.now() - beganMs
    client.close()
    return { tookMs, requests: bodies.length, perSecond: (bodies.length * 1000) / tookMs }
  },
  /**
   * Charges are paid at the bank and notified at so many a second, whether or not the service answers. Resolves to when
   * each notification was posted, and what it names.
   */
  async pace({ url, bankUrl, txids, perPost, connections, perSecond }) {
    const { origin, pathname } = new URL(url)
    const [service, bank] = [origin, bankUrl].map((to) => makeClient(to, { connections }))
    const notify = async (group) => {
      const paid = await expectOk(bank.post('/control/pay', JSON.stringify({ txids: group })))
      const payments = JSON.parse(paid.text)
      const at = Date.now()
      await expectOk(service.post(pathname, bodyOf(payments)))
      return { at, endToEndIds: payments.map(({ endToEndId }) => endToEndId) }
    }
    const beganMs = performance.now()
    const posts = []
    for (let first = 0; first < txids.length; first += perPost) {
      const dueMs = beganMs + (first * 1000) / perSecond
      if (dueMs > performance.now()) await sleep(dueMs - performance.now())
      posts.push(notify(txids.slice(first, first + perPost)))
    }
    const posted = await Promise.all(posts)
    for (const client of [service, bank]) client.close()
    return posted
  },
})

function bodyOf(payments) {
  const pix = payments.map(({ endToEndId, txid, at }) => ({ endToEndId, txid, valor: '50.00', horario: at }))
  return JSON.stringify({ pix })
}
