import type { Command } from 'commander'
import { Fault } from '../base/fault.ts'
import { transact } from '../db/tx.ts'
import { createKey, listKeys, revokeKey, type ListedKey } from '../domain/accounts/api-keys.ts'
import { SCOPES, type KeyScope } from '../domain/accounts/callers.ts'
import type { Core } from '../domain/core/core.ts'
import { requireAccount } from './api.ts'
import { addCommand, AS_JSON, commaSeparated, EXPIRES_IN_DAYS, OF_ACCOUNT } from './arguments.ts'
import { moment } from './format.ts'
import { consoleActor, databaseAction, printList, type JsonOption, type Terminal } from './terminal.ts'

const DAY_MS = 24 * 3_600_000

export function keyCommands(program: Command, terminal: Terminal): void {
  const key = program.command('key').description('create, list and revoke API keys')
  addCommand(key, 'create', '--email ana@loja.example --name shop --scopes deposits:write,deposits:read')
    .description('create an API key for an account; prints only the key, once')
    .requiredOption(...OF_ACCOUNT)
    .requiredOption('--name <name>', 'what the key is for')
    .option('--scopes <scopes>', `comma-separated: ${SCOPES.join(', ')}`, SCOPES.join(','))
    .option(...EXPIRES_IN_DAYS)
    .action(databaseAction(terminal, createKeyCommand))
  addCommand(key, 'list', '--email ana@loja.example')
    .description('list API keys of accounts and operators')
    .option('--email <email>', 'only this account or operator')
    .option(...AS_JSON)
    .action(databaseAction(terminal, listKeysCommand))
  addCommand(key, 'revoke', '0199a3c2-f4b8-7d6e-9b1a-5c0d3e2f4a68')
    .description('revoke a key of an account or operator; it stops working within 2 seconds')
    .argument('<id>', 'id from `key list`, or the key itself')
    .action(databaseAction(terminal, revokeKeyCommand))
}

export function expiryOf(now: Date, { expiresInDays }: { expiresInDays?: number }): Date | null {
  return expiresInDays ? new Date(now.getTime() + expiresInDays * DAY_MS) : null
}

async function createKeyCommand(
  core: Core,
  terminal: Terminal,
  options: { email: string; name: string; scopes: string; expiresInDays?: number },
): Promise<void> {
  const { accountId } = await requireAccount(core, options.email)
  const now = core.now()
  // createKey refuses unknown scopes and lists the known ones.
  const scopes = commaSeparated(options.scopes) as KeyScope[]
  const key = { accountId, name: options.name, scopes, expiresAt: expiryOf(now, options) }
  const { text } = await transact(core.pool, (tx) => createKey(tx, now, core.settings.mode, key, consoleActor()))
  terminal.print(text)
}

async function listKeysCommand(
  core: Core,
  terminal: Terminal,
  options: JsonOption & { email?: string },
): Promise<void> {
  const now = core.now()
  printList(terminal, options, await listKeys(core, options.email ?? null), {
    empty: 'There are no keys. Create one with: guiche key create --email <email> --name <name>',
    columns: {
      ID: (key) => key.keyId,
      HOLDER: (key) => (key.holder === 'operator' ? `${key.email} (operator)` : key.email),
      NAME: (key) => key.name,
      KEY: (key) => `${key.prefix}…`,
      STATE: (key) => stateOf(now, key),
      'LAST USED': (key) => (key.lastUsedAt ? moment(key.lastUsedAt) : 'never'),
      SCOPES: (key) => key.scopes.join(' '),
    },
  })
}

async function revokeKeyCommand(core: Core, terminal: Terminal, idOrText: string): Promise<void> {
  const revoked = await transact(core.pool, (tx) => revokeKey(tx, core.now(), idOrText, consoleActor()))
  if (!revoked) throw new Fault('not_found', 'No such key; list the keys with: guiche key list')
  terminal.print(`Revoked ${revoked.keyId} (${revoked.name}).`)
}

function stateOf(now: Date, key: ListedKey): string {
  if (key.revokedAt) return `revoked ${moment(key.revokedAt)}`
  if (key.expiresAt && key.expiresAt <= now) return `expired ${moment(key.expiresAt)}`
  return key.expiresAt ? `until ${moment(key.expiresAt)}` : 'active'
}
