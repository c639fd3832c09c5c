// The sandbox bank in the proof's own process, which no kill reaches. Its list of payments is the truth.

import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'

const PIX_KEY = 'sandbox@guiche.example'
const YEAR_MS = 365 * 86_400_000

/** With `as` it takes the ways of that bank alone, and `settingsFor` is what `guiche sandbox --as` prints. */
export async function openBank({ openSandbox, home, clock, as, settingsFor }) {
  const sandbox = await openSandbox({ home: join(home, 'bank'), port: 0, now: clock.now, as })
  const { book } = sandbox.psp
  const door = await openDoor(sandbox.port)
  const url = `http://127.0.0.1:${door.port}`
  const byTheDoor = (text) => text.replace(`:${sandbox.port}`, `:${door.port}`)
  const settings = as
    ? Object.fromEntries(settingsFor(as, sandbox).map(([name, value]) => [name, byTheDoor(value)]))
    : { PROVIDER_SANDBOX_URL: url }

  const call = async (method, path, body, headers = {}) => {
    const answer = await fetch(`${sandbox.url}${path}`, {
      method,
      headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, json: await answer.json() }
  }
  const ask = async (method, path, body, headers) => {
    const { status, json } = await call(method, path, body, headers)
    if (status >= 300) throw new Error(`the bank answered ${status} to ${method} ${path}: ${JSON.stringify(json)}`)
    return json
  }

  return {
    url,
    /** Environment variables with which the service reaches it. */
    settings,
    /** Returns the Pix that was made, or undefined if the bank refused it. */
    async pay(order) {
      const { status, json } = await call('POST', '/bank/pay', order)
      return status < 300 ? json.pix : undefined
    },
    /** Makes a refund at the bank, without the service. */
    async giveBack(endToEndId, amountCents) {
      const form = { grant_type: 'client_credentials', client_id: 'prove', client_secret: 'prove' }
      const { access_token: token } = await ask('POST', '/oauth/token', form)
      const valor = (amountCents / 100).toFixed(2)
      await ask(
        'PUT',
        `/pix/${endToEndId}/devolucao/clerk${amountCents}`,
        { valor },
        { authorization: `Bearer ${token}` },
      )
    },
    /** Returns a payment by itself, as after a report of fraud. */
    reverse: (order) => ask('POST', '/bank/reversal', order),
    /** `isUnreachable`: the service's connections are refused, so nothing that it asks for is done. */
    async faults({ isUnreachable = false, ...plan }) {
      await (isUnreachable ? door.close() : door.open())
      await ask('PUT', '/bank/faults', plan)
    },
    stats: () => ask('GET', '/bank/stats'),
    /** Undefined until the service has registered it. */
    notificationUrl() {
      const known = book.webhooks.get(PIX_KEY)
      return known && `${known.webhookUrl}/pix`
    },
    async payments() {
      const all = []
      for (let more = true; more;) {
        const page = await ask('GET', `/bank/payments${all.length > 0 ? `?after=${all.at(-1).endToEndId}` : ''}`)
        all.push(...page.pix)
        more = page.more
      }
      return all
    },
    charges({ sinceMs = YEAR_MS } = {}) {
      const fromMs = clock.now().getTime() - sinceMs
      const recent = [...book.charges.values()].filter(({ createdAtMs }) => createdAtMs >= fromMs)
      const show = ({ facts, refunds }) => ({ ...facts, devolucoes: refunds })
      return recent.map(({ cob, pix }) => ({ ...cob, pix: pix.map(show) }))
    },
    async stop() {
      await door.close()
      await sandbox.stop()
    },
  }
}

/** Opens the proxy by which the service reaches the bank. Payers and the proof itself do not use it. */
async function openDoor(bankPort) {
  const sockets = new Set()
  const server = createServer((caller) => {
    const bank = connect(bankPort, '127.0.0.1')
    for (const [socket, other] of [
      [caller, bank],
      [bank, caller],
    ]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  })
  const open = async (port) => {
    if (server.listening) return
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await open(0)
  const { port } = server.address()
  return {
    port,
    open: () => open(port),
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
