import { once } from 'node:events'
import { createServer } from 'node:net'
import { OperatorError } from '../base/operator-error.ts'

/** Fails early if this process cannot listen at the address. Port 0 checks only the host. */
export async function requireListen({ host, port }: { host: string; port: number }): Promise<void> {
  const server = createServer()
  try {
    server.listen({ host, port, exclusive: true })
    await once(server, 'listening')
  } catch (error) {
    throw explainListen(error, { host, port })
  } finally {
    server.close()
  }
}

/** One line if the operator can fix it; otherwise the error itself. */
export function explainListen(error: unknown, { host, port }: { host: string; port: number }): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  switch (code) {
    case 'EADDRINUSE':
      return new OperatorError(
        `The port is taken: something listens on ${host}:${port} already; stop it, or set PORT to another`,
      )
    case 'EACCES':
      return new OperatorError(`Port ${port} needs root: set PORT to one above 1023`)
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EADDRNOTAVAIL':
      return new OperatorError(
        `HOST ${host} is not an address of this machine: use 127.0.0.1, or 0.0.0.0 for all of them`,
      )
    default:
      return error
  }
}
