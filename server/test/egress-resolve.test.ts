import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { addressesInHosts, makeResolve, type Resolve } from '../src/egress/dial.ts'

const closing: (() => void)[] = []
afterEach(() => closing.splice(0).forEach((close) => close()))

type Zone = Record<string, { a?: string; aaaa?: string; error?: 'servfail' | 'refused' }>

const TYPES = { 1: 'a', 28: 'aaaa' } as const
const ERRORS = { none: 0, servfail: 2, nxdomain: 3, refused: 5 }

/** A minimal name server: one question, at most one answer. */
async function openNameServer(zone: Zone): Promise<{ resolve: Resolve; asked: string[] }> {
  const asked: string[] = []
  const server = createSocket('udp4')
  server.on('message', (query, from) => {
    const labels: string[] = []
    let at = 12
    for (let length = query[at]!; length > 0; length = query[at]!) {
      labels.push(query.subarray(at + 1, at + 1 + length).toString())
      at += 1 + length
    }
    const type = query.readUInt16BE(at + 1)
    const name = labels.join('.').toLowerCase()
    asked.push(`${name} ${type}`)
    const entry = zone[name]
    const address = type === 1 || type === 28 ? entry?.[TYPES[type]] : undefined
    const error = ERRORS[entry ? (entry.error ?? 'none') : 'nxdomain']
    const head = Buffer.from([query[0]!, query[1]!, 0x81, 0x80 + error, 0, 1, 0, address ? 1 : 0, 0, 0, 0, 0])
    const answer = address ? [Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0]), rdata(address)] : []
    server.send(Buffer.concat([head, query.subarray(12, at + 5), ...answer]), from.port, from.address)
  })
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(() => void server.close())
  return { resolve: makeResolve({ nameServers: [`127.0.0.1:${server.address().port}`] }), asked }
}

function rdata(address: string): Buffer {
  const groups = address.split(':').map((group) => group.padStart(4, '0'))
  const bytes = address.includes(':')
    ? Buffer.from(groups.join(''), 'hex')
    : Buffer.from(address.split('.').map(Number))
  return Buffer.concat([Buffer.from([0, bytes.length]), bytes])
}

const SIX = '2606:4700:0:0:0:0:0:1111'

test('a name’s addresses of both families are found, also when it has only one', async () => {
  const { resolve } = await openNameServer({
    'both.example': { a: '10.1.2.3', aaaa: SIX },
    'four.example': { a: '10.1.2.4' },
    'six.example': { aaaa: SIX },
  })
  expect(await resolve('both.example')).toEqual(['10.1.2.3', '2606:4700::1111'])
  expect(await resolve('four.example')).toEqual(['10.1.2.4'])
  expect(await resolve('six.example')).toEqual(['2606:4700::1111'])
})

test('a name without addresses, and one that nobody knows, do not resolve', async () => {
  const { resolve } = await openNameServer({ 'empty.example': {} })
  for (const name of ['empty.example', 'nobody.example']) {
    await expect(resolve(name)).rejects.toThrow(/^The name does not resolve$/)
  }
})

test('a name server in trouble is told apart, and is asked again the next time', async () => {
  const zone: Zone = { 'ill.example': { error: 'servfail' }, 'shy.example': { error: 'refused' } }
  const { resolve } = await openNameServer(zone)
  await expect(resolve('ill.example')).rejects.toThrow('its name servers do not answer (ESERVFAIL)')
  await expect(resolve('shy.example')).rejects.toThrow('its name servers do not answer (EREFUSED)')
  zone['ill.example'] = { a: '10.0.0.1' }
  expect(await resolve('ill.example')).toEqual(['10.0.0.1'])
})

test('many who ask at once share one question, and nothing is remembered after it', async () => {
  const zone: Zone = { 'a.example': { a: '10.0.0.1' } }
  const { resolve, asked } = await openNameServer(zone)
  const together = await Promise.all(Array.from({ length: 50 }, () => resolve('a.example')))
  expect(new Set(together.flat())).toEqual(new Set(['10.0.0.1']))
  expect(asked).toHaveLength(2)
  zone['a.example'] = { a: '10.0.0.2' }
  expect(await resolve('a.example')).toEqual(['10.0.0.2'])
})

test('nobody is asked about addresses and about localhost', async () => {
  const { resolve, asked } = await openNameServer({ localhost: { a: '10.0.0.1' } })
  expect(await resolve('1.2.3.4')).toEqual(['1.2.3.4'])
  expect(await resolve('::1')).toEqual(['::1'])
  for (const name of ['localhost', 'a.localhost']) expect(await resolve(name)).toEqual(['127.0.0.1', '::1'])
  expect(asked).toEqual([])
})

test('the hosts file is read as the system reads it', () => {
  const hosts = `# 10.0.0.9 commented.example
127.0.0.1\tlocalhost
172.17.0.1  Host.Docker.Internal other # host.example

fd00::1 other`
  expect(addressesInHosts(hosts, 'host.docker.internal')).toEqual(['172.17.0.1'])
  expect(addressesInHosts(hosts, 'other')).toEqual(['172.17.0.1', 'fd00::1'])
  expect(addressesInHosts(hosts, 'commented.example')).toEqual([])
  expect(addressesInHosts(hosts, 'host.example')).toEqual([])
  expect(addressesInHosts('', '')).toEqual([])
})
