import { readFileSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { verifyHistory, verifyReceipt, type HistoryProblem } from '@guiche/sdk'
import { openCheckpoint, parseKey, parseNote, verifyNote } from '../src/history-checkpoint.ts'
import { sha256 } from '../src/history-hashes.ts'
import { addSubtree, hasRoot, type Tree } from '../src/history-tree.ts'
import { DAMAGES, damagedLog, keysOf, mixedLog, wholeLines } from './history-damages.ts'
import { ACCOUNTS, makeLog, OTHER_NAME, rootOf, signNote, VKEY, vkeyOf } from './history-log.ts'

const [ACCOUNT = '', OTHER = ''] = ACCOUNTS
const OPERATORS = '00000000-0000-0000-0000-000000000000'
const KEYS = { keys: [VKEY] }

const fileOf = (lines: string[]) => lines.map((line) => `${line}\n`).join('')
const said = ({ code, leaf, position }: HistoryProblem) => [code, `${code} #${leaf}`, `${code} @${position}`]

test('every export of logs of any size is proven, for each account and the operators', async () => {
  for (const size of [0, 1, 2, 3, 7, 8, 9, 255, 256, 257, 700, 1025]) {
    const log = mixedLog(size)
    for (const account of [ACCOUNT, OTHER, OPERATORS]) {
      const lines = log.export(account)
      const positions = lines.filter((line) => line.startsWith('{"leaf"')).length
      const proof = await verifyHistory(fileOf(lines), KEYS)
      expect({ size, ...proof }).toMatchObject({
        ok: true,
        size,
        positions,
        accountId: account,
        signedBy: VKEY,
        problems: [],
      })
    }
  }
})

test('an account with two leaves among thousands of others is proven', async () => {
  const leaves = Array.from({ length: 3000 }, (_, leaf) => ({
    account: leaf === 700 || leaf === 2999 ? ACCOUNT : OTHER,
    class: 'event' as const,
    body: `${leaf}`,
  }))
  expect(await verifyHistory(fileOf(makeLog(leaves).export(ACCOUNT)), KEYS)).toMatchObject({ ok: true, positions: 2 })
})

test('erased lines are counted, and a line of the operators that nothing may erase is none', async () => {
  const proof = await verifyHistory(fileOf(damagedLog.export(OPERATORS)), KEYS)
  const erased = damagedLog.export(OPERATORS).filter((line) => line.includes('"personal","commitment"'))
  expect(erased.length).toBeGreaterThan(10)
  expect(proof).toMatchObject({ ok: true, erased: erased.length })
  const leaves = [1, 2, 3].map((n) => ({
    account: OPERATORS,
    class: 'line' as const,
    body: `${n}`,
    isErased: n === 2,
  }))
  const { problems } = await verifyHistory(fileOf(makeLog(leaves).export(OPERATORS)), KEYS)
  expect(problems).toMatchObject([
    { code: 'unreadable', line: 3 },
    { code: 'missing', leaf: 1, position: 2 },
  ])
})

test('a hash that was altered alone is the only problem', async () => {
  const damage = DAMAGES.find(({ name }) => name === 'a hash alone')!
  expect(await verifyHistory(fileOf(damage.damage(wholeLines())), KEYS)).toMatchObject({ problemCount: 1 })
})

test('a file in pieces of bytes that end anywhere is read like a whole one', async () => {
  const bytes = new TextEncoder().encode(fileOf(wholeLines()))
  const pieces = (function* () {
    for (let start = 0; start < bytes.length; start += 997) yield bytes.subarray(start, start + 997)
  })()
  expect(await verifyHistory(pieces, KEYS)).toEqual(await verifyHistory(fileOf(wholeLines()), KEYS))
  const { problems } = await verifyHistory([bytes, Uint8Array.of(0xc3)], KEYS)
  expect(problems).toMatchObject([{ code: 'unreadable' }])
})

test.each(DAMAGES)('$name is noticed, and where it is', async (damage) => {
  const proof = await verifyHistory(fileOf(damage.damage(wholeLines())), { keys: keysOf(damage) })
  expect(proof.ok).toBe(false)
  const found = proof.problems.flatMap(said)
  expect(damage.says.filter((wanted) => !found.includes(wanted))).toEqual([])
  const codes = new Set(damage.says.map((wanted) => wanted.split(' ')[0]))
  expect(proof.problems.filter(({ code }) => !codes.has(code))).toEqual([])
})

test('whatever character of an export changes, what is proven stays the same or it is not proven', async () => {
  const file = fileOf(mixedLog(40).export(ACCOUNT))
  const told = (text: string) => {
    const lines = text.split('\n').filter((line) => line.startsWith('{"leaf"'))
    return lines.map((line) => {
      const { leaf, position, class: leafClass, body } = JSON.parse(line) as Record<string, unknown>
      return [leaf, position, leafClass, body]
    })
  }
  const wrong: string[] = []
  const change = async (place: number, letter: string) => {
    const changed = file.slice(0, place) + letter + file.slice(place + 1)
    const { ok } = await verifyHistory(changed, KEYS)
    if (ok && JSON.stringify(told(changed)) !== JSON.stringify(told(file))) wrong.push(changed)
  }
  const letters = fc.constantFrom('A', 'b', '0', '9', '"', '\n', ' ')
  await fc.assert(fc.asyncProperty(fc.nat(file.length - 1), letters, change), { numRuns: 500 })
  expect(wrong).toEqual([])
})

test('a file that is damaged everywhere fills no memory', async () => {
  const { problems, problemCount } = await verifyHistory(`${wholeLines()[0]}\n${'x\n'.repeat(5000)}`, KEYS)
  expect([problems.length, problemCount]).toEqual([100, 5001])
  const endless = await verifyHistory([`${wholeLines()[0]}\n`, ...Array<string>(6).fill('x'.repeat(1 << 20))], KEYS)
  expect(endless.problems.map(({ code }) => code)).toEqual(['unreadable', 'size'])
})

describe('a receipt', () => {
  const body = (position: number) => {
    const line = wholeLines().find((line) => line.includes(`"position":${position},`))!
    return (JSON.parse(line) as { body: string }).body
  }

  test('proves its event, at every place of logs of any size', () => {
    for (const size of [1, 2, 3, 4, 5, 7, 8, 9, 33, 100]) {
      const leaves = Array.from({ length: size }, (_, leaf) => ({
        account: ACCOUNT,
        class: 'event' as const,
        body: `e${leaf}`,
      }))
      const log = makeLog(leaves)
      for (let leaf = 0; leaf < size; leaf++) {
        const proof = verifyReceipt(log.receipt(ACCOUNT, leaf + 1), `e${leaf}`, KEYS)
        expect(proof).toMatchObject({ ok: true, accountId: ACCOUNT, position: leaf + 1, leaf, size, signedBy: VKEY })
      }
    }
  })

  test('proves nothing else', () => {
    const receipt = damagedLog.receipt(ACCOUNT, 40)
    const codes = (text: string, event: string, keys = [VKEY]) =>
      verifyReceipt(text, event, { keys }).problems.map(({ code }) => code)
    expect(codes(receipt, body(40))).toEqual([])
    expect(codes(receipt, body(41))).toEqual(['not_included'])
    expect(codes(receipt, body(40), [])).toEqual(['no_key'])
    expect(codes(receipt.replace(/index .*/, 'index 1'), body(40))).toEqual(['not_included'])
    expect(codes(receipt.replace(/index .*/, 'index 9007199254740000'), body(40))).toEqual(['not_included'])
    expect(codes(receipt.replace(/(index .*\n).*\n/, '$1'), body(40))).toEqual(['not_included'])
    expect(codes(receipt.replace(/(index .*\n)(.*\n)/, '$1$2$2'), body(40))).toEqual(['not_included'])
    expect(codes(receipt.replace(/extra ./, 'extra /'), body(40))).toEqual(['not_included'])
    expect(codes(receipt.replace('\n700\n', '\n701\n'), body(40))).toContain('signature')
    for (const text of ['', receipt.replace('@v1', '@v2'), receipt.replace(/extra .*\n/, ''), receipt.slice(10)])
      expect(codes(text, body(40))).toEqual(['unreadable'])
  })
})

test('a receipt whose path does not lead from its leaf to the root of its size proves nothing', () => {
  const leaves = ['a', 'b'].map((body) => ({ account: ACCOUNT, class: 'event' as const, body }))
  const [one, two] = [makeLog(leaves.slice(0, 1)), makeLog(leaves)]
  const resign = (receipt: string, size: number) => {
    const [head = '', note = ''] = receipt.split('\n\n')
    return `${head}\n\n${signNote(`${note.replace(/\n\d+\n/, `\n${size}\n`)}\n`)}`
  }
  const codes = (receipt: string, event: string) => verifyReceipt(receipt, event, KEYS).problems.map(({ code }) => code)
  // Beyond the end, too short and too long: each would give the root by its hashes alone.
  expect(codes(one.receipt(ACCOUNT, 1).replace('index 0', 'index 1'), 'a')).toEqual(['not_included'])
  expect(codes(resign(one.receipt(ACCOUNT, 1), 2), 'a')).toEqual(['not_included'])
  expect(codes(resign(two.receipt(ACCOUNT, 2).replace('index 1', 'index 0'), 1), 'b')).toEqual(['not_included'])
})

describe('a checkpoint', () => {
  const { checkpoint: lines } = JSON.parse(wholeLines()[0]!) as { checkpoint: string }
  const text = lines.slice(0, lines.indexOf('\n\n') + 1)
  const codes = (note: string, vkeys = [VKEY]) =>
    openCheckpoint(note, vkeys.map(parseKey)).problems.map(({ code }) => code)

  test('is signed by a key of its own name only', () => {
    expect(codes(lines)).toEqual([])
    expect(codes(signNote(text, OTHER_NAME), [vkeyOf(OTHER_NAME)])).toEqual(['key_unknown'])
  })

  test('may carry signatures of others, up to a bound', () => {
    const other = '— witness.example/a Uw2QOkn8srV1\n'
    const withOthers = (many: number) => lines.replace('\n\n', `\n\n${other.repeat(many)}`)
    expect(codes(withOthers(63))).toEqual([])
    expect(codes(withOthers(64))).toEqual(['checkpoint'])
  })

  test('has three lines, extensions that are not empty, and no control characters', () => {
    expect(codes(signNote(`${text}extension\n`))).toEqual([])
    for (const other of [`${text}\nextension\n`, `${text}a\tb\n`, text.replace('\n7', '\n07'), text.slice(0, 80)])
      expect(codes(signNote(other))).toEqual(['checkpoint'])
  })
})

describe('the specifications', () => {
  const hex = (text: string) => Uint8Array.from(Buffer.from(text, 'hex'))
  const NOTE_KEY = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'

  // Certificate transparency's own vectors: eight leaves, and the root after each.
  const INPUTS = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f']
  const ROOTS = [
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
    'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
    'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
    '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
    'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
    '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
  ]
  test.each(ROOTS.map((root, many) => ({ root, many })))('RFC 6962: the root of $many leaves', ({ root, many }) => {
    const leaves = INPUTS.slice(0, many).map((input) => sha256(Uint8Array.of(0), hex(input)))
    const tree: Tree = { blocks: [], block: [] }
    leaves.forEach((hash, from) => addSubtree(tree, { from, level: 0, hash }))
    expect(hasRoot(tree, hex(root))).toBe(true)
    expect(rootOf(leaves.map((leaf) => Buffer.from(leaf))).toString('hex')).toBe(root)
  })

  test('signed-note: the key of its example signed that note, which is no checkpoint', () => {
    const note =
      'This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n'
    const key = parseKey(NOTE_KEY)
    const signer = (text: string) => verifyNote(parseNote(text)!, 'example.com/foo', [key])
    expect(signer(note)).toEqual({ signedBy: NOTE_KEY })
    expect(signer(note.replace('an', 'no'))).toMatchObject({ problem: { code: 'signature' } })
    expect(signer(note.replace('— example.com/foo', '— example.com/bar'))).toMatchObject({
      problem: { code: 'key_unknown' },
    })
    expect(openCheckpoint(note, [key]).problems).toMatchObject([{ code: 'checkpoint' }])
  })

  test('signed-note: a key whose id does not fit, or of another kind, is refused', () => {
    for (const key of ['', 'example.com/foo', NOTE_KEY.replace('530d', '530e'), NOTE_KEY.replace('+Aek', '+Bek')])
      expect(() => verifyReceipt(damagedLog.receipt(ACCOUNT, 1), '', { keys: [key] })).toThrow('verifier key')
  })
})

test('the sample in docs/verify is proven, and is what these rules make', async () => {
  const place = new URL('../../docs/verify/', import.meta.url)
  const log = mixedLog(11)
  const lines = log.export(ACCOUNT)
  const { body: event } = JSON.parse(lines.find((line) => line.includes('"position":3,'))!) as { body: string }
  const files = {
    'sample.jsonl': fileOf(lines),
    'sample.tlog-proof': log.receipt(ACCOUNT, 3),
    'sample.event': event,
    'sample.key': `${VKEY}\n`,
  }
  if (process.env['UPDATE_DOCS'])
    for (const [name, text] of Object.entries(files)) writeFileSync(new URL(name, place), text)
  const read = (name: string) => readFileSync(new URL(name, place), 'utf8')
  for (const [name, text] of Object.entries(files)) expect(read(name)).toBe(text)
  const keys = { keys: [read('sample.key').trim()] }
  expect(await verifyHistory(read('sample.jsonl'), keys)).toMatchObject({ ok: true, size: 11 })
  expect(verifyReceipt(read('sample.tlog-proof'), read('sample.event'), keys)).toMatchObject({
    ok: true,
    position: 3,
  })
})
