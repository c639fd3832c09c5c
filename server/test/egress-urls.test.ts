import type { RequestListener } from 'node:http'
import { beforeEach, describe, expect, test } from 'vitest'
import { freePort } from '../../scripts/free-port.mjs'
import type { WebhookSender } from '../src/domain/ports/webhook-sender.ts'
import { names, openWebhookSender, openHttp, openSockets, post, reasonOf, type Receiver } from './egress-servers.ts'

// Every way that we know to make a server call its own machine or its neighbours. A canary listens on the loopback: a
// test passes only if the URL was refused with a reason and nobody came to the canary.

let canary: Receiver
let webhookSender: WebhookSender

// These names resolve to addresses that must be refused. Each name has one list for each time it is asked.
const lookup = names({
  'loopback.example': [['127.0.0.1']],
  'loopback6.example': [['::1']],
  'anywhere.example': [['0.0.0.0']],
  'private.example': [['10.0.0.1']],
  'metadata.example': [['169.254.169.254']],
  'azure.example': [['168.63.129.16']],
  'mapped.example': [['::ffff:127.0.0.1']],
  'compatible.example': [['::127.0.0.1']],
  'nat64.example': [['64:ff9b::7f00:1']],
  'sixtofour.example': [['2002:7f00:1::']],
  'unique-local.example': [['fd00:ec2::254']],
  'zone.example': [['fe80::1%lo']],
  'odd.example': [['127.1']],
  'mixed.example': [['1.1.1.1', '127.0.0.1']],
  'mixed-last.example': [['1.1.1.1', '1.0.0.1', '2606:4700::1111', '::1']],
  'mixed-first.example': [['10.0.0.1', '1.1.1.1']],
  'xn--ao-siap.example': [['127.0.0.1']],
})

beforeEach(async () => {
  canary = await openSockets((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'), {
    hosts: ['127.0.0.1', '::1'],
  })
  webhookSender = openWebhookSender({ allowNetworks: [], allowHttp: true, lookup })
})

const LOOPBACK_NOTATIONS = [
  '127.0.0.1', '127.1', '127.0.1', '127.255.255.254', '2130706433', '017700000001', '0x7f000001', '0X7F000001', '0x7f.1', '0x7f.0.0.1', '0177.0.0.1',
  '0177.0.0.01', '00000177.0.0.1', '127.0.0.1.', '127.1.', '2130706433.', '127.0.0x1', '0x7f.0x0.0x0.0x1', '127.0.0.0x1', '%31%32%37.0.0.1', '127%2e0%2e0%2e1',
  '%30%78%37%66.1', '１２７.0.0.1', '１２７．０．０．１', '①②⑦.⓪.⓪.①', '127。0。0。1', '127｡0｡0｡1', '𝟏𝟐𝟕.𝟎.𝟎.𝟏', '⒈27.0.0.1',
  '[::1]', '[0:0:0:0:0:0:0:1]', '[::0001]', '[0000:0000:0000:0000:0000:0000:0000:0001]', '[::ffff:127.0.0.1]', '[::FFFF:7F00:1]', '[::ffff:0:127.0.0.1]',
  '[0:0:0:0:0:ffff:127.0.0.1]', '[::127.0.0.1]', '[::7f00:1]', '[64:ff9b::127.0.0.1]', '[64:ff9b:1::127.0.0.1]', '[2002:7f00:1::]', '[2001:0:7f00:1::]',
  '[::1%25lo]', '[::1%lo]', '[fe80::1%25eth0]', '[::ffff:127.1]', '[::ffff:0x7f.1]', '0', '0.0.0.0', '0x0', '00', '[::]', '[::0.0.0.0]', '[::ffff:0.0.0.0]',
] // prettier-ignore

const SPECIAL_ADDRESSES = [
  '0.255.255.255', '10.0.0.0', '10.255.255.255', '100.64.0.1', '100.100.100.200', '100.127.255.255', '168.63.129.16', '169.254.0.1', '169.254.169.254', '169.254.170.2',
  '172.16.0.1', '172.31.255.255', '192.0.0.192', '192.0.2.1', '192.31.196.1', '192.52.193.1', '192.88.99.1', '192.168.0.1', '192.168.255.255', '192.175.48.1', '198.18.0.1',
  '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', '0xa9fea9fe', '2852039166', '0251.0376.0251.0376',
  '169.254.43518', '3232235521', '012.0.0.1', '[fe80::1]', '[febf::1]', '[fec0::1]', '[fc00::1]', '[fdff::1]', '[fd00:ec2::254]', '[ff02::1]', '[100::1]', '[5f00::1]', '[4000::1]',
  '[2001::1]', '[2001:1ff::1]', '[2001:db8::1]', '[2002:a00:1::]', '[2002:808:808::]', '[3fff::1]', '[::ffff:169.254.169.254]', '[::ffff:8.8.8.8]', '[64:ff9b::10.0.0.1]', '[::a00:1]',
] // prettier-ignore

const LOCAL_NAMES = [
  'localhost', 'LOCALHOST', 'LocalHost', 'a.localhost', 'a.b.localhost', 'localhost.', 'a.localhost.', 'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ', 'ｌｏｃａｌｈｏｓｔ', 'loc%61lhost', 'local\u00adhost', 'localhost.localdomain',
  'printer.local', 'metadata.google.internal', 'metadata', 'router.lan', 'wiki.corp', 'nas.home.arpa', 'intranet', 'ip6-localhost',
] // prettier-ignore

const BAD_ANSWERS = [
  'loopback.example', 'loopback6.example', 'anywhere.example', 'private.example', 'metadata.example', 'azure.example', 'mapped.example', 'compatible.example',
  'nat64.example', 'sixtofour.example', 'unique-local.example', 'zone.example', 'odd.example', 'mixed.example', 'mixed-last.example', 'mixed-first.example',
  'ação.example', 'LOOPBACK.Example', 'loopback%2eexample', 'loopback。example', 'ｌoopback.example',
] // prettier-ignore

// PORT stands for the canary's port. Beside each URL is what the refusal says.
const TRICKS: [url: string, words: RegExp][] = [
  ['http://user:secret@127.0.0.1:PORT/', /user name or password/],
  ['http://user@127.0.0.1:PORT/', /user name or password/],
  ['http://@127.0.0.1:PORT/', /user name or password/],
  ['http://:@127.0.0.1:PORT/', /user name or password/],
  ['http://one.one.one.one@127.0.0.1:PORT/', /user name or password/],
  ['http://one.one.one.one%2f@127.0.0.1:PORT/', /user name or password/],
  ['http://one.one.one.one:443@127.0.0.1:PORT/', /user name or password/],
  ['http://one.one.one.one#@127.0.0.1:PORT/', /does not resolve/],
  ['http://one.one.one.one?@127.0.0.1:PORT/', /does not resolve/],
  ['http://one.one.one.one\\@127.0.0.1:PORT/', /backslashes/],
  ['http://127.0.0.1:PORT\\@one.one.one.one/', /backslashes/],
  ['http:\\\\127.0.0.1:PORT/', /backslashes/],
  ['http:/\\127.0.0.1:PORT/', /backslashes/],
  ['http:127.0.0.1:PORT/', /does not begin/],
  ['http:/127.0.0.1:PORT/', /does not begin/],
  ['http:///127.0.0.1:PORT/', /does not begin/],
  ['http:////127.0.0.1:PORT/', /does not begin/],
  ['//127.0.0.1:PORT/', /does not begin/],
  ['127.0.0.1:PORT', /does not begin/],
  ['', /does not begin/],
  ['http://', /does not begin/],
  ['http://:PORT/', /not valid/],
  [' http://127.0.0.1:PORT/', /spaces/],
  ['http://127.0.0.1:PORT/ ', /spaces/],
  ['ht\ntp://127.0.0.1:PORT/', /spaces/],
  ['http://127.0.\t0.1:PORT/', /invisible/],
  ['http://127.0.0.1\r\nhost: x:PORT/', /invisible/],
  ['http://127.0.0.1:PORT/\0', /invisible/],
  ['http://127.0.0.\u200b1:PORT/', /invisible/],
  ['http://127.0.0.1:PORT/a b', /spaces/],
  ['http://127.0.0.1%00.one.one:PORT/', /not valid/],
  ['http://127.0.0.1%0d%0a:PORT/', /not valid/],
  ['http://127.0.0.1%20:PORT/', /not valid/],
  ['http://127.0.0.1%23.one.one:PORT/', /not valid/],
  ['http://1.2.3.4.5:PORT/', /not valid/],
  ['http://256.0.0.1:PORT/', /not valid/],
  ['http://127.0.0.1:99999/', /not valid/],
  ['http://127.0.0.1:-1/', /not valid/],
  ['http://[::1:PORT/', /not valid/],
  ['http://[[::1]]:PORT/', /not valid/],
  ['http://a..example:PORT/', /not a valid name/],
  ['http://.example:PORT/', /not a valid name/],
  ['http://one.one.one.one.:PORT/', /not a valid name/],
  ['http://a!b.example:PORT/', /not a valid name/],
  [`http://${'a'.repeat(64)}.example:PORT/`, /not a valid name/],
  [`http://${'a.'.repeat(130)}example:PORT/`, /not a valid name/],
  ['http://134744072/', /Write the address as 8\.8\.8\.8/],
  ['http://0x08.8.8.8/', /Write the address as 8\.8\.8\.8/],
  ['http://8.8.8.8./', /Write the address as 8\.8\.8\.8/],
  ['http://８.8.8.8/', /Write the address as 8\.8\.8\.8/],
  ['ftp://127.0.0.1:PORT/', /does not begin with https/],
  ['file:///etc/passwd', /does not begin with https/],
  ['gopher://127.0.0.1:PORT/_x', /does not begin with https/],
  ['ws://127.0.0.1:PORT/', /does not begin with https/],
  ['data:text/plain,x', /does not begin with https/],
  ['javascript:alert(1)', /does not begin with https/],
  ['blob:http://127.0.0.1:PORT/x', /does not begin with https/],
  ['view-source:http://127.0.0.1:PORT/', /does not begin with https/],
  ['unix:/var/run/docker.sock', /does not begin with https/],
  ['http+unix://%2fvar%2frun%2fdocker.sock/', /does not begin with https/],
  [`http://one.one.one.one/${'a'.repeat(2_048)}`, /longer than 2048/],
  // This URL is short as typed, but long as sent.
  [`http://one.one.one.one/${'ã'.repeat(500)}`, /longer than 2048/],
  ...[0, 1, 22, 25, 53, 110, 143, 465, 587, 993, 2049, 5060, 6000, 6667, 10080].map((port): [string, RegExp] => [
    `http://one.one.one.one:${port}/`,
    new RegExp(`port ${port} belongs`),
  ]),
]

type Case = [url: string, words: RegExp]
const cases = (hosts: string[], words: RegExp, schemes = ['http']): Case[] =>
  hosts.flatMap((host) => schemes.map((scheme): Case => [`${scheme}://${host}:PORT/hook`, words]))

const CORPUS: Record<string, Case[]> = {
  'the loopback in any notation': cases(LOOPBACK_NOTATIONS, /not allowed: |not valid|not a valid name/, ['http', 'https']),
  'special addresses in any notation': cases(SPECIAL_ADDRESSES, /^A private address is not allowed: \w/),
  'names of this machine and its network': cases(LOCAL_NAMES, /loopback|internal network|not a valid name|invisible/),
  'names that resolve to something special': cases(BAD_ANSWERS, /is not (allowed: \w|an address)/, ['http', 'https']),
  'tricks of the trade': TRICKS,
} // prettier-ignore

describe.each(Object.entries(CORPUS))('refused, and nobody comes to the canary: %s', (_, corpus) => {
  test.each(corpus)('%j', async (template, words) => {
    const url = template.replaceAll('PORT', String(canary.port))
    const reason = await reasonOf(post(webhookSender, url, 2_000))
    expect(reason).toMatch(words)
    // The reason is a sentence, and not a code.
    expect(reason).toMatch(/^["A-Z]\S* .+ .+/)
    expect(canary.sockets).toHaveLength(0)
    // What the URL alone shows is already refused when a webhook is saved.
    const isAboutName = /example[:.]/i.test(template) || reason === 'The name does not resolve'
    if (!isAboutName) expect(webhookSender.check(url)?.reason.text).toBe(reason)
  })
})

test('the corpus is large', () => {
  expect(Object.values(CORPUS).flat().length).toBeGreaterThan(150)
})

test('the canary is alive: where the operator allows the loopback, it is reached', async () => {
  const allowed = openWebhookSender({ allowNetworks: ['127.0.0.0/8', '::1/128'], lookup })
  for (const host of ['127.0.0.1', 'localhost', 'a.localhost', 'loopback.example', 'xn--ao-siap.example']) {
    const before = canary.sockets.length
    expect(await post(allowed, `http://${host}:${canary.port}/`)).toMatchObject({ kind: 'answered', status: 200 })
    expect(canary.sockets).toHaveLength(before + 1)
  }
})

describe('rebinding', () => {
  // One address is allowed and stands for the internet. The canary listens beside it, at the same port.
  async function friendAndCanary() {
    const port = await freePort()
    const befriend: RequestListener = (_request, response) => response.setHeader('connection', 'close').end('friend')
    const friend = await openHttp(befriend, { port })
    const foe = await openSockets((socket) => socket.end(), { hosts: ['::1', '127.0.0.2'], port })
    return { friend, foe, url: `http://rebind.example:${port}/` }
  }

  test('a name that is good at first and bad later is reached while it is good', async () => {
    const { friend, foe, url } = await friendAndCanary()
    const rebinding = names({ 'rebind.example': [['127.0.0.1'], ['::1'], ['127.0.0.2'], ['127.0.0.1']] })
    const webhookSender = openWebhookSender({ lookup: rebinding })
    expect(await post(webhookSender, url)).toMatchObject({ kind: 'answered', status: 200, excerpt: 'friend' })
    expect(await reasonOf(post(webhookSender, url))).toBe('A private address is not allowed: loopback')
    expect(await reasonOf(post(webhookSender, url))).toBe('A private address is not allowed: loopback')
    expect(await post(webhookSender, url)).toMatchObject({ kind: 'answered', status: 200 })
    expect(friend.sockets).toHaveLength(2)
    expect(foe.sockets).toHaveLength(0)
  })

  test('a name is asked once for a connection, so the answer that was judged is the one that is dialled', async () => {
    const { friend, foe, url } = await friendAndCanary()
    const rebinding = names({ 'rebind.example': [['127.0.0.1'], ['::1']] })
    const webhookSender = openWebhookSender({ lookup: rebinding })
    expect(await post(webhookSender, url)).toMatchObject({ kind: 'answered', excerpt: 'friend' })
    expect(rebinding.asked).toEqual(['rebind.example'])
    expect([friend.sockets.length, foe.sockets.length]).toEqual([1, 0])
  })

  test.each([[['127.0.0.1', '::1']], [['::1', '127.0.0.1']], [['127.0.0.1', '127.0.0.1', '10.0.0.1']]])(
    'a name with a good and a bad answer is not dialled at all: %j',
    async (answers) => {
      const { friend, foe, url } = await friendAndCanary()
      const webhookSender = openWebhookSender({ lookup: names({ 'rebind.example': [answers] }) })
      expect(await reasonOf(post(webhookSender, url))).toMatch(/is not allowed/)
      expect([friend.sockets.length, foe.sockets.length]).toEqual([0, 0])
    },
  )

  test('nobody’s name server has a say in what localhost is', async () => {
    const { friend } = await friendAndCanary()
    const lying = names({ localhost: [['10.0.0.1']] })
    // The operator allows one of the two addresses of localhost.
    const webhookSender = openWebhookSender({ lookup: lying })
    expect(await post(webhookSender, `http://localhost:${friend.port}/`)).toMatchObject({
      kind: 'answered',
      excerpt: 'friend',
    })
    expect(lying.asked).toEqual([])
  })
})

describe('redirects are answers', () => {
  test.each([301, 302, 303, 307, 308])('%i', async (status) => {
    const locations = [
      `http://127.0.0.1:${canary.port}/`,
      `http://localhost:${canary.port}/`,
      `//127.1:${canary.port}/`,
    ]
    for (const location of locations) {
      const receiver = await openHttp((_request, response) => response.writeHead(status, { location }).end('elsewhere'))
      const answer = await post(openWebhookSender(), receiver.url)
      expect(answer).toMatchObject({ kind: 'answered', status, excerpt: 'elsewhere' })
    }
    expect(canary.sockets).toHaveLength(0)
  })
})

describe('checking a URL before it is saved', () => {
  const strict = () => openWebhookSender({ allowNetworks: [] })

  test.each([
    'https://example.com/hook', 'https://example.com:8443/hook?a=b#c', 'https://ação.com.br/', 'https://1.1.1.1/', 'https://[2606:4700::1111]/', 'https://a_b.example.com/',
  ])('%s is fine', (url) => expect(strict().check(url)).toBeUndefined()) // prettier-ignore

  test('plain http is for the operator’s own networks', () => {
    const plain = { code: 'http_not_allowed', text: 'Plain http is not allowed: use https', detail: null }
    expect(strict().check('http://example.com/')).toEqual({ reason: plain })
    expect(strict().check('http://1.1.1.1/')).toEqual({ reason: plain })
    const own = openWebhookSender({ allowNetworks: ['10.0.0.0/8'] })
    expect(own.check('http://10.1.2.3/')).toBeUndefined()
    // Only their addresses tell whether these hosts are in the operator's networks.
    for (const host of ['receiver', 'receiver.internal', 'example.com'])
      expect(own.check(`http://${host}/`)).toBeUndefined()
    expect(own.check('http://1.1.1.1/')).toEqual({ reason: plain })
    expect(own.check('http://localhost/')?.reason).toEqual({
      code: 'address_not_allowed',
      text: 'A private address is not allowed: loopback',
      detail: null,
    })
  })

  test('a public name over plain http is refused once its address is known', async () => {
    const own = openWebhookSender({ allowNetworks: ['10.0.0.0/8'], lookup: names({ 'a.example': [['1.1.1.1']] }) })
    expect(await reasonOf(post(own, 'http://a.example/'))).toBe('Plain http is not allowed: use https')
  })
})
