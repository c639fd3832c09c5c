import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { mkdtemp, readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { newUuid7 } from '../src/base/ids.ts'
import { parseCheckpoint } from '../src/base/signed-note.ts'
import { query, transact } from '../src/db/tx.ts'
import { makeOutsideHeads } from '../src/domain/core/outside-heads.ts'
import { signHead } from '../src/domain/history/heads.ts'
import { isConsistent } from '../src/domain/history/merkle.ts'
import { makeNumberingMemory, numberPending } from '../src/domain/history/number-pending.ts'
import { submitHead } from '../src/domain/history/witness.ts'
import { insertEvents } from '../src/domain/webhooks/events.ts'
import { makeWitness } from '../src/egress/witness.ts'
import { loseNewest } from './corrupt.ts'
import { world, type World } from './world.ts'

async function tell({ pool, clock, ctx }: World, accountId: string, count: number): Promise<void> {
  const at = clock.now()
  for (let told = 0; told < count; told++) {
    const event = { kind: 'WEBHOOK_TEST' as const, accountId, subjectId: newUuid7(at), createdAt: at, data: {} }
    await transact(pool, (tx) => insertEvents(tx, at, [event]))
    // A batch for each event: a loss may begin at any of them.
    while ((await numberPending(ctx, makeNumberingMemory())) !== 'idle');
  }
  clock.advance(2_000)
}

test('a witness signs each head that goes on from the one before, also when it is ahead of what we remember', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const witness = await startWitness()
  const submit = () => submitHead(w.ctx, makeWitness(witness.url), witness.key)
  await tell(w, accountId, 3)
  expect(await submit()).toBe('cosigned')
  await tell(w, accountId, 40)
  expect(await submit()).toBe('cosigned')
  expect(await submit()).toBe('known')
  // As a restored database that lacks what the witness signed: the witness says its size, and we go on from it.
  await query(w.pool, 'update history_heads set cosigned = null')
  await tell(w, accountId, 1)
  expect(await submit()).toBe('cosigned')
  expect(witness.sizes).toHaveLength(3)
})

test('a witness refuses a log that was forked', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const witness = await startWitness()
  const submit = () => submitHead(w.ctx, makeWitness(witness.url), witness.key)
  await tell(w, accountId, 5)
  expect(await submit()).toBe('cosigned')
  // Who holds the database and the key, and removed what was kept outside, can sign another tree.
  await loseNewest(w, 2)
  const { keep } = w.ctx.settings.outsideHeads
  await keep('')
  await tell(w, accountId, 4)
  expect(await submit()).toBe('refused')
  expect(w.logged.some(({ text }) => text.includes('the witness does not sign'))).toBe(true)
})

test('a signature of another key than WITNESS_KEY is not taken for one of the witness', async () => {
  const w = await world()
  const { accountId } = await w.account()
  const [witness, other] = [await startWitness(), await startWitness()]
  await tell(w, accountId, 1)
  expect(await submitHead(w.ctx, makeWitness(witness.url), other.key)).toBe('refused')
})

test('each head is kept in the home, and appended to the anchor file', async () => {
  const home = await mkdtemp(join(tmpdir(), 'guiche-heads-'))
  const anchor = join(home, 'anchor.txt')
  const w = await world({ settings: { outsideHeads: makeOutsideHeads(home, anchor) } })
  const { accountId } = await w.account()
  await tell(w, accountId, 1)
  const first = await signHead(w.ctx)
  await tell(w, accountId, 1)
  const second = await signHead(w.ctx)
  expect(await readFile(join(home, 'history-head.txt'), 'utf8')).toBe(second.note)
  expect(await readFile(anchor, 'utf8')).toBe(`${first.note}\n${second.note}\n`)
})

// ---- A witness, as c2sp.org/tlog-witness describes it ----

async function startWitness() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const name = 'witness.example'
  const material = Buffer.concat([Buffer.from([4]), publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)])
  const id = createHash('sha256').update(`${name}\n`).update(material).digest().subarray(0, 4)
  const newest = new Map<string, { size: number; root: Buffer }>()
  const sizes: number[] = []

  function answer(body: string): [status: number, text: string] {
    const [head, ...rest] = body.split('\n\n')
    const [old, ...proof] = head!.split('\n')
    const note = rest.join('\n\n')
    const checkpoint = parseCheckpoint(note)!
    const known = newest.get(checkpoint.origin) ?? { size: 0, root: Buffer.alloc(0) }
    if (Number(old!.slice('old '.length)) !== known.size) return [409, `${known.size}\n`]
    const hashes = proof.map((line) => Buffer.from(line, 'base64'))
    if (known.size > 0 && !isConsistent(known, checkpoint, hashes)) return [422, 'inconsistent']
    newest.set(checkpoint.origin, checkpoint)
    sizes.push(checkpoint.size)
    const time = Buffer.alloc(8)
    time.writeBigUInt64BE(1_700_000_000n)
    const text = note.slice(0, note.lastIndexOf('\n\n') + 1)
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime 1700000000\n${text}`), privateKey)
    return [200, `— ${name} ${Buffer.concat([id, time, signature]).toString('base64')}\n`]
  }

  const server = createServer((request, response) => {
    void read(request).then((body) => {
      const [status, text] = request.url === '/add-checkpoint' ? answer(body) : [404, '']
      response.writeHead(status).end(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const key = `${name}+${id.toString('hex')}+${material.toString('base64')}`
  return { url: `http://127.0.0.1:${port}`, key, sizes }
}

async function read(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const part of request) text += String(part)
  return text
}
