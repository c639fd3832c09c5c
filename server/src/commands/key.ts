import { Fault } from '../base/fault.ts'
import type { Config } from '../config.ts'
import { transact } from '../db/tx.ts'
import type { Scope } from '../domain/accounts/callers.ts'
import { createKey, listKeys, revokeKey, type ListedKey } from '../domain/accounts/api-keys.ts'
import { requireAccount } from './account.ts'
import { consoleActor, json, moment, table, withDatabase, type Terminal } from './terminal.ts'

const DAY_MS = 24 * 3_600_000

export async function createKeyCommand(
  config: Config,
  terminal: Terminal,
  options: { email: string; name: string; scopes: string; expiresInDays?: number },
): Promise<void> {
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

export async function listKeysCommand(
  config: Config,
  terminal: Terminal,
  options: { email?: string; json?: boolean },
): Promise<void> {
  await withDatabase(config, terminal, async (core) => {
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

export async function revokeKeyCommand(config: Config, terminal: Terminal, idOrText: string): Promise<void> {
  await withDatabase(config, terminal, async (core) => {
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
