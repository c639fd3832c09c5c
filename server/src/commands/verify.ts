import { createReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { HistoryProof, ReceiptProof } from '#sdk'
import { OperatorError } from '../base/operator-error.ts'
import { addCommand, AS_JSON } from './arguments.ts'
import { count, labelled, mebibytes } from './format.ts'
import { withProgress } from './progress.ts'
import { printOne, type JsonOption, type Terminal } from './terminal.ts'

// The audit uses the same: 1 is an answer, and scripts must not take a missing file for one.
const EXIT_NOT_PROVEN = 1
const EXIT_NOT_RUN = 2
/** Read in about a second. A shorter file needs no progress bar. */
const LONG_FILE_BYTES = 64 * 1024 * 1024
const MAX_SHOWN = 20
/** A verifier key as it stands in a line of text, or in the JSON of a service. */
const VERIFIER_KEYS = /[^\s"+]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}/g

type Options = JsonOption & { key?: string[]; keyFile?: string; receipt?: string; event?: string }

export function verifyCommand(program: Command, terminal: Terminal): void {
  addCommand(
    program,
    'verify',
    'history.jsonl --key-file guiche-log.json',
    '--receipt event.tlog-proof --event event.json --key-file guiche-log.json',
  )
    .description('prove an export of a history, or the receipt of one event, without a database')
    .argument('[file]', 'the export, or - for standard input')
    .option('--key <key>', 'verifier key of the log; may be repeated', (key: string, keys?: string[]) => [
      ...(keys ?? []),
      key,
    ])
    .option('--key-file <file>', 'file with verifier keys, such as a stored /.well-known/guiche-log.json')
    .option('--receipt <file>', 'receipt of one event')
    .option('--event <file>', 'that event: its exact bytes, as a webhook gets them')
    .option(...AS_JSON)
    .addHelpText(
      'after',
      `
Take the key from the operator, or store it once from the service: curl https://pay.example.com/.well-known/guiche-log.json
A key that came with the file proves nothing. What is proven: docs/history-format.md

Exit codes:
  0  proven
  1  not proven: damaged, or not signed by a given key
  2  could not run, such as when a file cannot be read`,
    )
    .action(async (file: string | undefined, options: Options) => {
      try {
        const ok = await proveWhich(terminal, file, options)
        if (!ok) terminal.setExitCode(EXIT_NOT_PROVEN)
      } catch (error) {
        terminal.say(`guiche: ${error instanceof Error ? error.message : String(error)}`)
        terminal.setExitCode(EXIT_NOT_RUN)
      }
    })
}

async function proveWhich(terminal: Terminal, file: string | undefined, options: Options): Promise<boolean> {
  const { receipt, event } = options
  const keys = await keysOf(options)
  if (file !== undefined && receipt === undefined && event === undefined) {
    const proof = await proveExport(terminal, file, keys)
    printOne(terminal, options, proof, describeExport)
    return proof.ok
  }
  if (file !== undefined || receipt === undefined || event === undefined)
    throw new OperatorError('Give either an export, or both --receipt and --event')
  const { verifyReceipt } = await import('#sdk')
  const proof = verifyReceipt(await readFile(receipt, 'utf8'), await readFile(event), { keys })
  printOne(terminal, options, proof, describeReceipt)
  return proof.ok
}

async function keysOf({ key = [], keyFile }: Options): Promise<string[]> {
  if (keyFile === undefined) return key
  const found = (await readFile(keyFile, 'utf8')).match(VERIFIER_KEYS)
  if (!found) throw new OperatorError(`There is no verifier key, <name>+<id>+<key>, in ${keyFile}`)
  return [...key, ...found]
}

async function proveExport(terminal: Terminal, file: string, keys: string[]): Promise<HistoryProof> {
  const { verifyHistory } = await import('#sdk')
  if (file === '-') return verifyHistory(process.stdin, { keys })
  const handle = await open(file)
  const { size } = await handle.stat()
  const pieces = createReadStream(file, { fd: handle })
  if (size < LONG_FILE_BYTES) return verifyHistory(pieces, { keys })
  return withProgress(terminal.screen, (show) => verifyHistory(counted(pieces, size, show), { keys }))
}

async function* counted(
  pieces: AsyncIterable<Buffer>,
  size: number,
  show: (done: number, text: string) => void,
): AsyncIterable<Buffer> {
  let read = 0
  for await (const piece of pieces) {
    yield piece
    read += piece.length
    show(read / size, `${mebibytes(read)} of ${mebibytes(size)}`)
  }
}

function describeExport(proof: HistoryProof): string {
  const { accountId, historyId, positions, erased, size, root, signedBy, problems, problemCount } = proof
  const facts = labelled({
    history: historyId,
    account: accountId,
    positions: `${positions}${erased > 0 ? `, of which ${erased} were erased: what they said is not in the file` : ''}`,
    log: size === undefined ? undefined : `${count(size, 'leaf', 'leaves')}, root ${root}`,
    'signed by': signedBy,
  })
  if (proof.ok) return `${facts}\n\nProven: the file is whole, and each line is what the log holds.`
  const shown = problems.slice(0, MAX_SHOWN).map(({ code, line, leaf, position, text }) => {
    const places = Object.entries({ position, leaf, line }).filter(([, at]) => at !== undefined)
    return `  ${[...places.map(([name, at]) => `${name} ${at}`), code].join(', ')}: ${text}`
  })
  const more = problemCount > shown.length ? [`  and ${problemCount - shown.length} more`] : []
  return [facts, '', `NOT PROVEN: ${count(problemCount, 'problem')}`, ...shown, ...more, ...advice(proof)].join('\n')
}

function describeReceipt(proof: ReceiptProof): string {
  const { accountId, historyId, position, leaf, size, root, signedBy, problems } = proof
  const facts = labelled({
    history: historyId,
    account: accountId,
    position,
    leaf,
    log: size === undefined ? undefined : `${count(size, 'leaf', 'leaves')}, root ${root}`,
    'signed by': signedBy,
  })
  if (proof.ok) return `${facts}\n\nProven: the log holds exactly this event, at this position of the account.`
  const shown = problems.map(({ code, text }) => `  ${code}: ${text}`)
  return [facts, '', 'NOT PROVEN', ...shown, ...advice(proof)].join('\n')
}

function advice({ problems }: { problems: { code: string }[] }): string[] {
  if (!problems.some(({ code }) => code === 'no_key')) return []
  return ['Anybody can make a file that fits itself. Give the key of the log with --key or --key-file.']
}
