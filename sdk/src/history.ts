import {
  openCheckpoint,
  parseKey,
  type Checkpoint,
  type SignatureCode,
  type VerifierKey,
} from './history-checkpoint.ts'
import { isSame, toBase64 } from './history-hashes.ts'
import { parseHeader, parseLine, type BlockLine, type Header, type OthersLine, type OwnLine } from './history-lines.ts'
import { addSubtree, BLOCK_LEAVES, blockHash, copyTree, hasRoot, type Tree } from './history-tree.ts'

export type HistoryProblemCode =
  | 'unreadable'
  | 'missing'
  | 'repeated'
  | 'position'
  | 'altered'
  | 'block'
  | 'hash_altered'
  | 'size'
  | 'root'
  | 'header'
  | 'checkpoint'
  | SignatureCode
/** `line` counts from 1, and `leaf` from 0. `position` is the first one that is concerned. */
export type HistoryProblem = {
  code: HistoryProblemCode
  line?: number
  leaf?: number
  position?: number
  text: string
}
export type HistoryProof = {
  /** Whether the file is whole and unaltered, and one of the keys signed the log that it belongs to. */
  ok: boolean
  accountId?: string
  historyId?: string
  /** Leaves of the log, those of other accounts included. */
  size?: number
  /** The root of the log, in Base64. */
  root?: string
  /** How many positions of this account the file has; if it is `ok` they are 1 to `positions`. */
  positions: number
  /** Those whose text was erased: that there was something at their positions is proven, and not what. */
  erased: number
  /** The verifier key, of those given, that signed the checkpoint. */
  signedBy?: string
  /** The first hundred. */
  problems: HistoryProblem[]
  problemCount: number
}

/** A file in pieces, which may end anywhere: of `createReadStream`, or the `body` of a response. */
export type Pieces = string | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>

/** More would not be read, and a file that fits nowhere must not fill the memory. */
const MAX_PROBLEMS = 100
/** Longer than any event by far. A damaged file without line ends must not fill the memory. */
const MAX_LINE_LENGTH = 4 * 1024 * 1024

/**
 * Proves an export of a history: that it is whole, that each line is what the log holds, and that one of `keys` signed
 * the log. These are verifier keys, from the operator or `/.well-known/guiche-log.json`, and never from the file. It
 * keeps some hashes only, however long the file is.
 *
 * It needs `node:crypto`, which Node, Bun and Deno have. Throws if a key is no verifier key.
 */
export async function verifyHistory(file: Pieces, { keys }: { keys: readonly string[] }): Promise<HistoryProof> {
  const proof: HistoryProof = { ok: false, positions: 0, erased: 0, problems: [], problemCount: 0 }
  const report = (problem: HistoryProblem) => {
    if (proof.problemCount++ < MAX_PROBLEMS) proof.problems.push(problem)
  }
  const verifierKeys = keys.map(parseKey)
  let number = 0
  let reader: Reader | undefined
  await readLines(file, (text) => {
    number++
    if (number === 1) {
      const header = parseHeader(text)
      if (header) reader = beginReading(proof, report, header, verifierKeys)
      else report({ code: 'unreadable', line: 1, text: 'The first line is not that of an export of a history.' })
      return header !== undefined
    }
    reader?.read(text, number)
    return true
  })
  if (number === 0) report({ code: 'unreadable', line: 1, text: 'The file is empty.' })
  reader?.end()
  return { ...proof, ok: proof.problemCount === 0 }
}

type Report = (problem: HistoryProblem) => void
type Reader = { read(text: string, number: number): void; end(): void }

function beginReading(proof: HistoryProof, report: Report, header: Header, keys: VerifierKey[]): Reader {
  const { checkpoint, signedBy, problems } = openCheckpoint(header.checkpoint, keys)
  for (const problem of problems) report({ ...problem, line: 1 })
  if (checkpoint && checkpoint.historyId !== header.historyId)
    report({ code: 'header', line: 1, text: 'The checkpoint is of another history than the first line names.' })
  proof.accountId = header.accountId
  proof.historyId = header.historyId
  if (signedBy !== undefined) proof.signedBy = signedBy
  if (checkpoint) {
    proof.size = checkpoint.size
    proof.root = toBase64(checkpoint.root)
  }
  return makeReader(proof, report, header.account, checkpoint)
}

function makeReader(
  proof: HistoryProof,
  report: Report,
  account: Uint8Array,
  checkpoint: Checkpoint | undefined,
): Reader {
  /** The leaf and the position that come next. */
  let leaf = 0
  let position = 1
  /** A gap in the leaves since the last own line, of which it is not known whether own lines are missing in it. */
  let gap: HistoryProblem | undefined
  /** Where leaves are missing no root can be computed, and no hash of their block. */
  let hasGaps = false
  let block: { from: number; isWhole: boolean; position?: number } = { from: 0, isWhole: true }
  /** The tree of what the lines hold, and that of the hashes that they say they have: one, until these differ. */
  const actual: Tree = { blocks: [], block: [] }
  let claimed = actual

  /** Whether the line has the next leaf, or comes after a gap. */
  const takes = (from: number, number: number, own?: number): boolean => {
    if (from < leaf) {
      const where = own === undefined ? {} : { position: own }
      report({ code: 'repeated', line: number, leaf: from, ...where, text: 'A line for this leaf came before.' })
      return false
    }
    const blockFrom = from - (from % BLOCK_LEAVES)
    if (blockFrom !== block.from) block = { from: blockFrom, isWhole: from === blockFrom }
    if (from === leaf) return true
    const problem: HistoryProblem = {
      code: 'missing',
      line: number,
      leaf,
      text: `Before this line, ${leaf === from - 1 ? `leaf ${leaf} is` : `leaves ${leaf} to ${from - 1} are`} missing.`,
    }
    report(problem)
    gap ??= problem
    hasGaps = true
    block.isWhole = from === blockFrom
    return true
  }
  const add = (from: number, level: number, hash: Uint8Array, said = hash) => {
    if (claimed === actual && said !== hash) claimed = copyTree(actual)
    addSubtree(actual, { from, level, hash })
    if (claimed !== actual) addSubtree(claimed, { from, level, hash: said })
    leaf = from + 2 ** level
  }
  const readOwn = (line: OwnLine, number: number) => {
    if (!takes(line.leaf, number, line.position)) return
    const isAltered = line.claimed !== undefined && !isSame(line.claimed, line.hash)
    // A line that does not give its hash may have the wrong number, so its place counts. Others are believed.
    const own = isAltered && !gap ? position : line.position
    const where = { line: number, leaf: line.leaf }
    if (gap && line.position > position) gap.position = position
    else if (line.position !== position)
      report({
        code: 'position',
        ...where,
        position,
        text: `This says position ${line.position} where ${position} is due.`,
      })
    if (isAltered)
      report({ code: 'altered', ...where, position: own, text: 'What this line holds does not give its hash.' })
    add(line.leaf, 0, line.hash, isAltered ? line.claimed : line.hash)
    block.position ??= own
    position = own + 1
    gap = undefined
    proof.positions++
    if (line.isErased) proof.erased++
  }
  const readOthers = ({ from, level, hash }: OthersLine, number: number) => {
    if (takes(from, number)) add(from, level, hash)
  }
  const readBlock = ({ from, hash }: BlockLine, number: number) => {
    const isAtEnd = leaf === from + BLOCK_LEAVES || leaf === checkpoint?.size
    if (from !== block.from || !block.isWhole || !isAtEnd) return
    if ([actual, claimed].some((tree) => isSame(blockHash(tree), hash))) return
    const where = { line: number, leaf: from, ...(block.position !== undefined && { position: block.position }) }
    const text = `Something was altered in leaves ${from} to ${leaf - 1}, positions up to ${position - 1}.`
    report({ code: 'block', ...where, text })
  }
  return {
    read(text, number) {
      const line = parseLine(text, account)
      if (!line) report({ code: 'unreadable', line: number, text: 'This is not a line of an export.' })
      else if (line.kind === 'own') readOwn(line, number)
      else if (line.kind === 'others') readOthers(line, number)
      else readBlock(line, number)
    },
    end() {
      if (!checkpoint) return
      const { size, root } = checkpoint
      if (leaf !== size) {
        const where = leaf < size ? { leaf, position } : { leaf }
        report({ code: 'size', ...where, text: `The file has ${leaf} leaves, and the checkpoint ${size}.` })
      } else if (!hasGaps) {
        judgeRoot(proof, report, { isActual: hasRoot(actual, root), isClaimed: hasRoot(claimed, root) })
      }
    },
  }
}

/** A hash that does not belong to the signed root was altered itself, and what it speaks of was not. */
function judgeRoot(
  proof: HistoryProof,
  report: Report,
  { isActual, isClaimed }: { isActual: boolean; isClaimed: boolean },
): void {
  if (!isActual && !isClaimed)
    return report({ code: 'root', text: 'The lines do not give the root of the checkpoint.' })
  const codes: HistoryProblemCode[] = isActual ? ['altered', 'block'] : ['block']
  for (const problem of proof.problems.filter(({ code }) => codes.includes(code))) {
    problem.code = 'hash_altered'
    problem.text = 'The hash in this file was altered; what it was computed of is what the log holds.'
  }
}

/** `take` gets each line without its end, and returns false to stop. */
async function readLines(file: Pieces, take: (line: string) => boolean): Promise<void> {
  const decoder = new TextDecoder()
  let rest = ''
  const takeWhole = (): boolean => {
    let start = 0
    for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n', start)) {
      if (!take(rest.slice(start, end))) return false
      start = end + 1
    }
    rest = rest.slice(start)
    // No JSON ends here, so this line is reported.
    return rest.length <= MAX_LINE_LENGTH || (take(rest) && false)
  }
  for await (const piece of typeof file === 'string' ? [file] : file) {
    rest += typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true })
    if (!takeWhole()) return
  }
  rest += decoder.decode()
  if (takeWhole() && rest !== '') take(rest)
}
