import { InvalidArgumentError, type Command } from 'commander'
import { z } from 'zod'
import { readTaxId } from '../base/tax-id.ts'

// Commander adds the name of the option to a refusal.

export const AS_JSON = ['--json', 'print JSON'] as const
export const REASON = ['--reason <text>', 'reason, for the audit log'] as const
export const OF_ACCOUNT = ['--email <email>', 'e-mail of the account'] as const
export const ONLY_ACCOUNT = ['--email <email>', 'only this account'] as const
export const ONLY_PROVIDER = ['--provider <name>', 'only this provider'] as const
export const EXPIRES_IN_DAYS = ['--expires-in-days <days>', 'days until it expires (default: never)', positive] as const

const MAX_LIMIT = 1_000

export function limit(initial: number) {
  const parse = wholeNumber({ min: 1, max: MAX_LIMIT })
  return ['--limit <n>', `how many to show, up to ${MAX_LIMIT}`, parse, initial] as const
}

export function addCommand(parent: Command, name: string, ...examples: string[]): Command {
  const lines = examples.map((example) => `\n  $ npx ${pathOf(parent)} ${name} ${example}`.trimEnd())
  return parent.command(name).addHelpText('after', `\nExample${lines.length > 1 ? 's' : ''}:${lines.join('')}`)
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
}

export function positive(text: string): number {
  return wholeNumber({ min: 1, max: Number.MAX_SAFE_INTEGER }, 'It must be a positive whole number.')(text)
}

/** Without its punctuation. */
export function taxId(text: string): string {
  const read = readTaxId(text)
  if (!read) throw new InvalidArgumentError('It must be a valid CPF or CNPJ.')
  return read.number
}

export function wholeNumber(
  { min, max }: { min: number; max: number },
  refusal = `It must be a whole number from ${min} to ${max}.`,
): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d{1,15}$/.test(text) || value < min || value > max) throw new InvalidArgumentError(refusal)
    return value
  }
}

/** Requires a time zone, because that of the terminal often differs from that of the server. */
export function time(text: string): Date {
  if (z.iso.datetime({ offset: true }).safeParse(text).success) return new Date(text)
  throw new InvalidArgumentError('It must be a date and time with its zone, such as 2026-01-31T00:00:00Z.')
}

/** Refuses dots, which would change the path of the request. */
export function id(text: string): string {
  if (/^\.{0,2}$/.test(text)) throw new InvalidArgumentError('It must be an id.')
  return text
}

export function commaSeparated(text: string): string[] {
  return text.split(',').map((part) => part.trim())
}
