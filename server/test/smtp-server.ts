import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A minimal mail server that takes an email, or refuses it. It does not speak TLS. */
export async function startSmtp({ refuses = false } = {}): Promise<{ url: string; commands: string[] }> {
  const commands: string[] = []
  const server = createServer((socket) => {
    socket.write('220 test\r\n')
    let isData = false
    let rest = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString()).split('\r\n')
      rest = lines.pop()!
      for (const line of lines) {
        commands.push(line)
        if (isData && line !== '.') continue
        if (line === '.') isData = false
        else isData = line === 'DATA'
        const isRefused = line === 'STARTTLS' || (refuses && line.startsWith('RCPT'))
        socket.write(isRefused ? '550 not here\r\n' : isData ? '354 go on\r\n' : '250 fine\r\n')
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, commands }
}
