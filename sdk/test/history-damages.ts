import { ACCOUNTS, makeLog, signNote, VKEY } from './history-log.ts'

// What may happen to an export, and what its verifiers must say. Position 40 of 170 or so is damaged, on leaves that
// belong to three accounts.

type Line = Record<string, string | number>
export type Damage = {
  name: string
  damage(lines: string[]): string[]
  keys?: string[]
  /** Each as `code`, `code @position` or `code #leaf`. No other code is said. */
  says: string[]
}

const SIZE = 700
const [FIRST = '', SECOND = ''] = ACCOUNTS
const OPERATORS = '00000000-0000-0000-0000-000000000000'

export function mixedLog(size: number) {
  // Squares mod 11 look random enough, and are the same in every run.
  const turn = (leaf: number) => ((leaf * leaf) % 11) % 3
  return makeLog(
    Array.from({ length: size }, (_, leaf) => {
      if (turn(leaf) === 1) {
        const isSignIn = leaf % 2 === 0
        return { account: OPERATORS, class: isSignIn ? 'personal' : 'line', body: `line ${leaf}`, isErased: isSignIn }
      }
      const body = JSON.stringify({ id: `evt_${leaf}`, event: 'DEPOSIT_ASSET_SUCCESS', name: 'João “J” <&> 😀' })
      return { account: turn(leaf) === 0 ? FIRST : SECOND, class: 'event', body }
    }),
  )
}

export const damagedLog = mixedLog(SIZE)
const WHOLE_LINES = damagedLog.export(FIRST)
export const wholeLines = () => [...WHOLE_LINES]

const at = (lines: string[], position: number) => lines.findIndex((line) => line.includes(`"position":${position},`))
const lineOf = (lines: string[], index: number) => JSON.parse(lines[index]!) as Line
const edit = (lines: string[], index: number, change: (line: Line) => Line) =>
  lines.with(index, JSON.stringify(change(lineOf(lines, index))))
const at40 = (change: (line: Line) => Line) => (lines: string[]) => edit(lines, at(lines, 40), change)
const without = (line: Line, ...names: string[]) =>
  Object.fromEntries(Object.entries(line).filter(([name]) => !names.includes(name)))
const flip = (base64: unknown) => `${String(base64).startsWith('A') ? 'B' : 'A'}${String(base64).slice(1)}`
const header = (change: (line: Line) => Line) => (lines: string[]) => edit(lines, 0, change)
const otherBody = (line: Line) => ({ ...line, body: String(line['body']).replace('SUCCESS', 'SUCCESs') })
const otherHash = (line: Line) => ({ ...line, hash: flip(line['hash']) })
const blockLine = (lines: string[]) => lines.findIndex((line) => line.startsWith('{"block":0,'))
const withoutAids = (lines: string[]) =>
  lines.filter((line) => !line.startsWith('{"block"')).map((line) => line.replace(/(?<=[,"]),"hash":"[^"]+"}$/, '}'))
const resigned = (change: (text: string) => string) =>
  header((line) => ({ ...line, checkpoint: signNote(change(String(line['checkpoint']).split('\n\n')[0]! + '\n')) }))

const LEAF_40 = lineOf(wholeLines(), at(wholeLines(), 40))['leaf'] as number
const OTHER_KEY = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k'

export const DAMAGES: Damage[] = [
  { name: 'a byte of a body', damage: at40(otherBody), says: ['altered @40'] },
  { name: 'a salt', damage: at40((line) => ({ ...line, salt: flip(line['salt']) })), says: ['altered @40'] },
  { name: 'a class', damage: at40((line) => ({ ...line, class: 'line' })), says: ['altered @40'] },
  {
    name: 'a position',
    damage: at40((line) => ({ ...line, position: 99 })),
    says: ['position @40', 'altered @40'],
  },
  { name: 'a line removed', damage: (lines) => lines.toSpliced(at(lines, 40), 1), says: ['missing @40'] },
  {
    name: 'a line doubled',
    damage: (lines) => lines.toSpliced(at(lines, 40), 0, lines[at(lines, 40)]!),
    says: ['repeated @40'],
  },
  {
    name: 'two lines swapped',
    damage: (lines) => lines.with(at(lines, 40), lines[at(lines, 41)]!).with(at(lines, 41), lines[at(lines, 40)]!),
    says: ['missing @40', 'repeated @40'],
  },
  {
    name: 'a line inserted',
    damage: (lines) => lines.toSpliced(at(lines, 41), 0, JSON.stringify(otherBody(lineOf(lines, at(lines, 41))))),
    says: ['altered @41', 'repeated @41'],
  },
  {
    name: 'a line shown as that of another account',
    damage: at40(({ leaf, hash }) => ({ from: leaf!, level: 0, hash: hash! })),
    says: ['position @40'],
  },
  {
    name: 'garbage in place of a line',
    damage: (lines) => lines.with(at(lines, 40), '{'),
    says: ['unreadable', 'missing @40'],
  },
  {
    name: 'a hash of others',
    damage: (lines) =>
      edit(
        lines,
        lines.findIndex((line) => line.startsWith('{"from"')),
        otherHash,
      ),
    says: ['block #0', 'root'],
  },
  {
    name: 'a body with its hash',
    damage: at40((line) => without(otherBody(line), 'hash')),
    says: ['block #0', 'root'],
  },
  {
    name: 'a body, where the file has nothing to find it by',
    damage: (lines) => at40(otherBody)(withoutAids(lines)),
    says: ['root'],
  },
  {
    name: 'a body and the hash of its block',
    damage: (lines) => at40(otherBody)(edit(lines, blockLine(lines), otherHash)),
    says: ['altered @40', 'hash_altered #0'],
  },
  {
    name: 'a hash that is none',
    damage: at40((line) => ({ ...line, hash: 'x' })),
    says: ['unreadable', 'missing @40'],
  },
  {
    name: 'another spelling of a salt',
    damage: at40((line) => ({ ...line, salt: String(line['salt']).replace(/.(?===$)/, 'B') })),
    says: ['unreadable', 'missing @40'],
  },
  {
    name: 'the size of a subtree of others',
    damage: (lines) =>
      edit(
        lines,
        lines.findIndex((line) => /^{"from":\d*[13579],"level":0/.test(line)),
        (line) => ({ ...line, level: 1 }),
      ),
    says: ['unreadable', 'missing'],
  },
  { name: 'a hash alone', damage: at40(otherHash), says: ['hash_altered @40'] },
  {
    name: 'the hash of a block alone',
    damage: (lines) => edit(lines, blockLine(lines), otherHash),
    says: ['hash_altered #0'],
  },
  { name: 'the end cut off', damage: (lines) => lines.slice(0, at(lines, 40)), says: [`size #${LEAF_40}`] },
  {
    name: 'the end cut off within a line',
    damage: (lines) => [...lines.slice(0, at(lines, 40)), lines[at(lines, 40)]!.slice(0, 60)],
    says: ['unreadable', 'size @40'],
  },
  {
    name: 'a checkpoint of a smaller size',
    damage: resigned((text) => text.replace('\n700\n', '\n699\n')),
    says: ['size #700'],
  },
  {
    name: 'a checkpoint of a larger size',
    damage: resigned((text) => text.replace('\n700\n', '\n701\n')),
    says: ['size #700'],
  },
  {
    name: 'a checkpoint of another root',
    damage: resigned((text) => text.replace(/\n(.{43}=)\n$/, (_, root) => `\n${flip(root)}\n`)),
    says: ['root'],
  },
  {
    name: 'the signature',
    damage: header((line) => ({
      ...line,
      checkpoint: String(line['checkpoint']).replace(/.(?=.{9}\n$)/s, (sign) => (sign === 'A' ? 'B' : 'A')),
    })),
    says: ['signature'],
  },
  {
    name: 'the size without a new signature',
    damage: header((line) => ({ ...line, checkpoint: String(line['checkpoint']).replace('\n700\n', '\n699\n') })),
    says: ['signature', 'size #700'],
  },
  { name: 'a key that is not known', damage: (lines) => lines, keys: [OTHER_KEY], says: ['key_unknown'] },
  { name: 'no key', damage: (lines) => lines, keys: [], says: ['no_key'] },
  { name: 'no checkpoint', damage: header((line) => ({ ...line, checkpoint: 'none' })), says: ['checkpoint'] },
  { name: 'another history', damage: header((line) => ({ ...line, historyId: SECOND })), says: ['header'] },
  {
    name: 'the account',
    damage: header((line) => ({ ...line, accountId: SECOND })),
    says: ['altered @1', 'altered @40'],
  },
  { name: 'no first line', damage: (lines) => lines.slice(1), says: ['unreadable'] },
  { name: 'an empty file', damage: () => [], says: ['unreadable'] },
]

export const keysOf = ({ keys = [VKEY] }: Damage) => keys
