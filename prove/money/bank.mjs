// The sandbox bank in the proof's own process, which no kill reaches. Its list of payments is the truth.

import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'

const PIX_KEY = 'sandbox@guiche.example'
const YEAR_MS = 365 * 86_400_000

export async function openBank({ openSandbox, home, clock }) {
  const sandbox = await openSandbox({ home: join(home, 'bank'), port: 0, now: clock.now })
  const door = await openDoor(sandbox.port)

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
  /**
   * Asks by API Pix, as a customer of the bank. Works only while the bank is healthy: faults affect these calls too.
   */
  const askAsCustomer = async (path) => {
    const form = { grant_type: 'client_credentials', client_id: 'prove', client_secret: 'prove' }
    const { access_token: token } = await ask('POST', '/oauth/token', form)
    return ask('GET', path, undefined, { authorization: `Bearer ${token}` })
  }

  return {
    url: `http://127.0.0.1:${door.port}`,
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
    readFaults: () => ask('GET', '/bank/faults'),
    stats: () => ask('GET', '/bank/stats'),
    notificationUrl: async () => `${(await askAsCustomer(`/webhook/${PIX_KEY}`)).webhookUrl}/pix`,
    async payments() {
      const all = []
      for (let more = true; more;) {
        const page = await ask('GET', `/bank/payments${all.length > 0 ? `?after=${all.at(-1).endToEndId}` : ''}`)
        all.push(...page.pix)
        more = page.more
      }
      return all
    },
    async charges({ sinceMs = YEAR_MS } = {}) {
      const day = (ms) => new Date(clock.now().getTime() + ms).toISOString()
      const query = `inicio=${day(-sinceMs)}&fim=${day(YEAR_MS)}&paginacao.itensPorPagina=1000`
      const all = []
      for (let page = 0, pages = 1; page < pages; page++) {
        const { parametros, cobs } = await askAsCustomer(`/cob?${query}&paginacao.paginaAtual=${page}`)
        all.push(...cobs)
        pages = parametros.paginacao.quantidadeDePaginas
      }
      return all
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
