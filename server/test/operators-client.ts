import type { InjectOptions } from 'fastify'
import { transact } from '../src/db/tx.ts'
import type { Actor } from '../src/domain/core/audit-log.ts'
import { createOperatorKey } from '../src/domain/accounts/api-keys.ts'
import type { OperatorScope } from '../src/domain/accounts/callers.ts'
import { createOperator } from '../src/domain/users/operators.ts'
import type { App } from '../src/http/app.ts'
import { bearer } from './requests.ts'
import type { World } from './world.ts'

// An operator who uses the API, for the tests of http/operator.ts and of what it changes.

export const CONSOLE: Actor = { kind: 'console', name: 'tester' }

export type TestOperator = { operatorId: string; email: string; key: string; keyId: string }

export async function makeOperator(w: World, email = 'ops@example.com'): Promise<TestOperator> {
  const operator = { email, name: 'Olga', password: 'correct horse battery' }
  const { operatorId } = await createOperator(w.ctx, operator, CONSOLE)
  return { operatorId, email, ...(await makeOperatorKey(w, operatorId)) }
}

export async function makeOperatorKey(
  w: World,
  operatorId: string,
  expiresAt: Date | null = null,
  scope: OperatorScope = 'operator',
) {
  const { keyId, text } = await transact(w.pool, (tx) =>
    createOperatorKey(tx, w.clock.now(), 'test', { operatorId, name: 'laptop', scope, expiresAt }, CONSOLE),
  )
  return { keyId, key: text }
}

export async function ask(
  w: Pick<World, 'app'>,
  key: string,
  method: 'GET' | 'POST' | 'PATCH',
  path: string,
  payload?: object,
  // oxlint-disable-next-line typescript/no-explicit-any -- what an answer holds is what these tests are about
): Promise<{ status: number; body: any }> {
  const request: InjectOptions = { method, url: `/api/operator/${path}`, headers: bearer(key) }
  const answer = await w.app.inject(payload === undefined ? request : { ...request, payload })
  return { status: answer.statusCode, body: answer.json() }
}

export type Route = { method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'; url: string }

/** Every route under a prefix, as the app itself lists them, so that no list has to be kept beside it. */
export function apiRoutesOf(app: App, prefix = '/api'): Route[] {
  const way: string[] = []
  const lines = app.printRoutes({ commonPrefix: false }).split('\n')
  return lines.flatMap((line) => {
    const [, indent, part, methods] = /^((?:[│ ] {3})*)[├└]── (\S+)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? []
    if (indent === undefined || part === undefined) return []
    way.splice(indent.length / 4, Infinity, part)
    const url = way.join('')
    if (!url.startsWith(prefix) || methods === undefined) return []
    return methods
      .split(', ')
      .filter((method) => method !== 'HEAD')
      .map((method) => ({ method: method as Route['method'], url }))
  })
}

/** The address with something that looks like an id for each parameter. */
export function filledIn(url: string): string {
  return url.replaceAll(/:\w+/g, '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57')
}
