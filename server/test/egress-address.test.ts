import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { makeNetworks } from '../src/egress/address.ts'

// Tests the ranges at their edges, and everywhere against a second implementation in plain arithmetic.

const internet = makeNetworks({ allowNetworks: [], allowHttp: false })
const refusal = (address: string) => internet.refusal(address, { plain: false })?.text

const DENIED_4 = [
  '0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '168.63.129.16/32', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24',
  '192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24', '198.18.0.0/15',
  '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4',
] // prettier-ignore

// These ranges are inside 2000::/3.
const DENIED_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20']

const AROUND_6 = [
  '2000::/3', '::/8', '64:ff9b::/96', '64:ff9b:1::/48', '4000::/2', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8',
] // prettier-ignore

const bits4 = (address: string) => address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)
const text4 = (bits: bigint) => [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 255n).join('.')

function bits6(address: string): bigint {
  const [head = '', tail] = address.split('::')
  const groups = (part: string) => (part ? part.split(':') : [])
  const [left, right] = [groups(head), groups(tail ?? '')]
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  return [...left, ...zeros, ...right].reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n)
}

const text6 = (bits: bigint) =>
  Array.from({ length: 8 }, (_, group) => ((bits >> BigInt(112 - group * 16)) & 0xffffn).toString(16)).join(':')

function edges(cidr: string, family: 4 | 6): { first: bigint; last: bigint } {
  const [address = '', prefix] = cidr.split('/')
  const size = 1n << BigInt((family === 4 ? 32 : 128) - Number(prefix))
  const first = family === 4 ? bits4(address) : bits6(address)
  return { first, last: first + size - 1n }
}

const within = (bits: bigint, cidrs: string[], family: 4 | 6) =>
  cidrs.some((cidr) => bits >= edges(cidr, family).first && bits <= edges(cidr, family).last)

const isDenied4 = (bits: bigint) => within(bits, DENIED_4, 4)
const isDenied6 = (bits: bigint) => bits >> 125n !== 1n || within(bits, DENIED_6, 6)

describe('special addresses are refused from the first to the last, and their neighbours are not', () => {
  test.each(DENIED_4)('%s', (cidr) => {
    const { first, last } = edges(cidr, 4)
    for (const bits of [first, last]) expect(refusal(text4(bits))).toMatch(/ is not allowed: \w/)
    const near = [first - 1n, last + 1n].filter((bits) => bits >= 0n && bits < 1n << 32n)
    expect(near.map((bits) => refusal(text4(bits)) !== undefined)).toEqual(near.map(isDenied4))
  })

  test.each([...DENIED_6, ...AROUND_6])('%s', (cidr) => {
    const { first, last } = edges(cidr, 6)
    const near = [first - 1n, first, last, last + 1n].filter((bits) => bits >= 0n && bits < 1n << 128n)
    expect(near.map((bits) => refusal(text6(bits)) !== undefined)).toEqual(near.map(isDenied6))
  })
})

test('any IPv4 address is judged as plain arithmetic does', () => {
  const nearby = fc.tuple(fc.constantFrom(...DENIED_4), fc.bigInt(-300n, 300n)).map(([cidr, offset]) => {
    const { first, last } = edges(cidr, 4)
    return BigInt.asUintN(32, (offset < 0n ? first : last) + offset)
  })
  const anywhere = fc.bigInt(0n, (1n << 32n) - 1n)
  fc.assert(
    fc.property(fc.oneof(nearby, anywhere), (bits) => {
      expect(refusal(text4(bits)) !== undefined).toBe(isDenied4(bits))
    }),
    { numRuns: 2_000 },
  )
})

test('any IPv6 address is judged as plain arithmetic does', () => {
  const nearby = fc.tuple(fc.constantFrom(...DENIED_6, '2000::/3'), fc.bigInt(-300n, 300n)).map(([cidr, offset]) => {
    const { first, last } = edges(cidr, 6)
    return BigInt.asUintN(128, (offset < 0n ? first : last) + offset)
  })
  const anywhere = fc.bigInt(0n, (1n << 128n) - 1n)
  const global = fc.bigInt(1n << 125n, (1n << 126n) - 1n)
  fc.assert(
    fc.property(fc.oneof(nearby, anywhere, global), (bits) => {
      expect(refusal(text6(bits)) !== undefined).toBe(isDenied6(bits))
    }),
    { numRuns: 2_000 },
  )
})

test.each([
  ['0.0.0.0', 'this network'], ['127.0.0.1', 'loopback'], ['::1', 'loopback'], ['::', 'unspecified address'], ['10.0.0.1', 'private network'], ['fd00::1', 'private network'],
  ['fec0::1', 'private network'], ['169.254.169.254', 'link-local (cloud metadata)'], ['fe80::1', 'link-local'], ['168.63.129.16', 'cloud metadata'],
  ['224.0.0.1', 'multicast'], ['ff02::1', 'multicast'], ['255.255.255.255', 'broadcast'], ['::ffff:8.8.8.8', 'an embedded IPv4 address'],
  ['::8.8.8.8', 'an embedded IPv4 address'], ['64:ff9b::8.8.8.8', 'an embedded IPv4 address'], ['64:ff9b:1::1', 'an embedded IPv4 address'],
  ['2002:808:808::', 'an embedded IPv4 address'], ['2001:db8::1', 'documentation'], ['4000::1', 'not a public address'],
])('it is told why %s is refused', (address, why) => {
  expect(refusal(address)).toBe(`A private address is not allowed: ${why}`)
}) // prettier-ignore

test.each(['1.1.1.1', '9.255.255.255', '128.0.0.1', '200.160.2.3', '223.255.255.255', '2606:4700::1111', '2804:1::1', '2a00::1'])(
  'the public address %s is fine', (address) => expect(refusal(address)).toBeUndefined()) // prettier-ignore

test.each(['', '127.1', '0x7f000001', '2130706433', '010.0.0.1', ' 1.1.1.1', '1.1.1.1 ', 'fe80::1%eth0', '2606:4700::1111%1', '[::1]', 'name'])(
  'what is not plainly an address is refused: "%s"', (text) => expect(refusal(text)).toMatch(/is not an address/)) // prettier-ignore

describe('the operator’s networks', () => {
  const allowed = makeNetworks({ allowNetworks: ['10.1.0.0/16', ' fd00:1::/32', '192.168.7.7'], allowHttp: false })

  test.each(['10.1.0.0', '10.1.255.255', '192.168.7.7', 'fd00:1::1', 'fd00:1:ffff::'])(
    '%s is reached, also by plain http',
    (address) => {
      expect(allowed.refusal(address, { plain: false })).toBeUndefined()
      expect(allowed.refusal(address, { plain: true })).toBeUndefined()
    },
  )

  // These include mapped forms, which a BlockList would take for the IPv4 addresses.
  test.each(['10.0.255.255', '10.2.0.0', '192.168.7.8', 'fd00:2::1', '::ffff:10.1.0.1', '::10.1.0.1', '2002:a01:1::'])(
    '%s stays refused', (address) => expect(allowed.refusal(address, { plain: false })?.text).toMatch(/is not allowed/)) // prettier-ignore

  test('all of IPv6 allowed says nothing about IPv4, and the other way round', () => {
    const six = makeNetworks({ allowNetworks: ['::/0'], allowHttp: false })
    expect(six.refusal('10.0.0.1', { plain: false })?.text).toMatch(/private network/)
    const four = makeNetworks({ allowNetworks: ['0.0.0.0/0'], allowHttp: false })
    expect(four.refusal('::ffff:10.0.0.1', { plain: false })?.text).toMatch(/embedded IPv4/)
  })

  test.each(['10.0.0.0/33', '::/129', '10.0.0/8', 'localhost', '', '10.0.0.0/-1', '10.0.0.0/8/8', '010.0.0.0/8', 'fe80::%eth0/10', '/8'])(
    'a network that cannot be read is refused loudly: "%s"', (network) => {
      expect(() => makeNetworks({ allowNetworks: [network], allowHttp: false })).toThrow(/is not a network: write it like/)
    }) // prettier-ignore
})

test('plain http goes to public addresses only if the operator says so', () => {
  expect(internet.refusal('1.1.1.1', { plain: true })?.text).toBe('Plain http is not allowed: use https')
  const lax = makeNetworks({ allowNetworks: [], allowHttp: true })
  expect(lax.refusal('1.1.1.1', { plain: true })).toBeUndefined()
  expect(lax.refusal('10.0.0.1', { plain: true })?.text).toMatch(/private network/)
})
