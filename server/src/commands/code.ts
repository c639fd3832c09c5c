import { Option, type Command } from 'commander'
import type { Code } from '#sdk'
import { formatReais } from '../base/money.ts'
import { BY_API, serviceAction, type Api } from './api.ts'
import { addCommand, AS_JSON, limit, positive } from './arguments.ts'
import { labelled, moment } from './format.ts'
import { printList, printOne, type JsonOption, type Terminal } from './terminal.ts'

export function codeCommands(program: Command, terminal: Terminal): void {
  const code = program
    .command('code')
    .description('lasting codes of an account, which can be paid again and again, from anywhere')
    .addHelpText('after', BY_API)
  const add = (name: string, ...examples: string[]) => addCommand(code, name, ...examples).addHelpText('after', BY_API)
  const ofOne = (name: string, ...more: string[]) =>
    add(name, 'customer-17', ...more.map((options) => `customer-17 ${options}`))
      .argument('<externalId>', 'your own reference, such as that of a customer')
      .option(...AS_JSON)
  ofOne('ensure', '--description "Monthly fee" --min 1000')
    .description('make a code, change what it allows, or open a closed one again; what is not given has no value')
    .option('--description <text>', 'text that payers see')
    .option('--min <cents>', 'the least that a payer may pay', positive)
    .option('--max <cents>', 'the most that a payer may pay', positive)
    .action(serviceAction(terminal, ensureCommand))
  ofOne('get').description('show a code').action(serviceAction(terminal, getCommand))
  add('list', '--status OPEN')
    .description('list the newest codes')
    .addOption(new Option('--status <status>', 'only this status').choices(['OPEN', 'CLOSED']))
    .option(...limit(50))
    .option(...AS_JSON)
    .action(serviceAction(terminal, listCommand))
  ofOne('close').description('hold payments of a code from now on').action(serviceAction(terminal, closeCommand))
}

type EnsureOptions = JsonOption & { description?: string; min?: number; max?: number }

async function ensureCommand({ codes }: Api, terminal: Terminal, externalId: string, options: EnsureOptions) {
  const { description = null, min: minValue = null, max: maxValue = null } = options
  printOne(terminal, options, await codes.ensure({ externalId, description, minValue, maxValue }), describe)
}

async function getCommand({ codes }: Api, terminal: Terminal, externalId: string, options: JsonOption) {
  printOne(terminal, options, await codes.retrieve(externalId), describe)
}

async function closeCommand({ codes }: Api, terminal: Terminal, externalId: string, options: JsonOption) {
  printOne(terminal, options, await codes.close(externalId), describe)
}

type ListOptions = JsonOption & { status?: Code['status']; limit: number }

async function listCommand(api: Api, terminal: Terminal, { json, ...query }: ListOptions): Promise<void> {
  printList(terminal, { json }, await api.list('listCodes', query), {
    empty: 'No code matches.',
    columns: {
      'EXTERNAL ID': (code) => code.externalId,
      CREATED: (code) => moment(code.createdAt),
      STATUS: (code) => code.status,
      DESCRIPTION: (code) => code.description ?? '',
      PAGE: (code) => code.codeUrl,
    },
  })
}

function describe(code: Code): string {
  const lines = labelled({
    Reference: code.externalId,
    Status: code.status,
    Description: code.description,
    'At least': code.minValue && formatReais(code.minValue),
    'At most': code.maxValue && formatReais(code.maxValue),
    Page: code.codeUrl,
  })
  // Not by labelled(), which would remove spaces that belong to the code.
  return `${lines}\nCode       ${code.emv}`
}
