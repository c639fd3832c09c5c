import type { Command } from 'commander'
import { Fault } from '../base/fault.ts'
import { transact } from '../db/tx.ts'
import { SCOPES, type Scope } from '../domain/accounts/callers.ts'
import { createKey, listKeys, revokeKey, type ListedKey } from '../domain/accounts/api-keys.ts'
import { requireAccount } from './account.ts'
import { positive } from './arguments.ts'
import { consoleActor, json, moment, table, withDatabase, type Terminal } from './terminal.ts'

const DAY_MS = 24 * 3_600_000

export function keyCommands(program: Command, terminal: Terminal): void {
  const key = program.command('key').description('API keys')
  key
    .command('create')
    .description('make an API key; prints the key alone, this once')
    .requiredOption('--email <email>', 'whose key')
    .requiredOption('--name <name>', 'what it is for')
    .option('--scopes <scopes>', `comma-separated, of ${SCOPES.join(', ')}`, SCOPES.join(','))
    .option('--expires-in-days <days>', 'after which it stops working (default: never)', positive)
    .addHelpText(
      'after',
      '\nExample:\n  $ KEY=$(npx guiche key create --email ana@loja.example --name shop --scopes deposits:write,deposits:read)',
    )
    .action((options) => createKeyCommand(terminal, options))
  key
    .command('list')
    .description('all keys, or those of one account holder or operator')
    .option('--email <email>', 'of this one only')
    .option('--json', 'as JSON, for programs')
    .action((options) => listKeysCommand(terminal, options))
  key
    .command('revoke')
    .description('stop a key from working, everywhere within 2 seconds')
    .argument('<id>', 'its id as `key list` shows it, or the key itself')
    .action((id) => revokeKeyCommand(terminal, id))
}

async function createKeyCommand(
  terminal: Terminal,
  options: { email: string; name: string; scopes: string; expiresInDays?: number },
): Promise<void> {
  const config = terminal.loadConfig()
  await withDatabase(config, terminal, async (core) => {
    const account = await requireAccount(core, options.email)
    const createdAt = core.now()
    const { text } = await transact(core.pool, (tx) =>
      createKey(
        tx,
        createdAt,
        config.settings.mode,
        {
          accountId: account.accountId,
          name: options.name,
          // createKey refuses what is not a scope, with the list of those that are.
          scopes: options.scopes.split(',').map((scope) => scope.trim()) as Scope[],
          expiresAt: options.expiresInDays ? new Date(createdAt.getTime() + options.expiresInDays * DAY_MS) : null,
        },
        consoleActor(),
      ),
    )
    terminal.print(text)
  })
}

async function listKeysCommand(terminal: Terminal, options: { email?: string; json?: boolean }): Promise<void> {
  await withDatabase(terminal.loadConfig(), terminal, async (core) => {
    const keys = await listKeys(core, options.email ?? null)
    if (options.json) return terminal.print(json(keys))
    if (keys.length === 0)
      return terminal.say('There are no keys yet. Make one with: guiche key create --email <email> --name <name>')
    terminal.print(
      table(
        ['ID', 'OF', 'NAME', 'KEY', 'STATE', 'LAST USED', 'SCOPES'],
        keys.map((key) => rowOf(core.now(), key)),
      ),
    )
  })
}

async function revokeKeyCommand(terminal: Terminal, idOrText: string): Promise<void> {
  await withDatabase(terminal.loadConfig(), terminal, async (core) => {
    const revoked = await transact(core.pool, (tx) => revokeKey(tx, core.now(), idOrText, consoleActor()))
    if (!revoked) throw new Fault('not_found', 'no such key; guiche key list shows their ids')
    terminal.print(`Revoked ${revoked.keyId} (${revoked.name}).`)
  })
}

function rowOf(now: Date, key: ListedKey): string[] {
  const lastUsed = key.lastUsedAt ? moment(key.lastUsedAt) : 'never'
  const of = key.holder === 'operator' ? `${key.email} (operator)` : key.email
  return [key.keyId, of, key.name, `${key.prefix}…`, stateOf(now, key), lastUsed, key.scopes.join(' ')]
}

function stateOf(now: Date, key: ListedKey): string {
  if (key.revokedAt) return `revoked ${moment(key.revokedAt)}`
  if (key.expiresAt && key.expiresAt <= now) return `expired ${moment(key.expiresAt)}`
  return key.expiresAt ? `until ${moment(key.expiresAt)}` : 'active'
}
