import type { FastifyInstance } from 'fastify'
import { z } from 'zod'

// More names would not help to find the mistake.
const MAX_NAMES = 10
const MAX_NAME_LENGTH = 64

/**
 * Unknown fields of a body are ignored, so that newer callers work with an older server. The header `Guiche-Ignored`
 * names them: else a misspelt field would be lost in silence.
 */
export function tellIgnoredFields(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    const known = fieldsOf(route.schema?.body)
    if (!known) return
    route.preValidation = [route.preValidation ?? []].flat().concat((request, reply, done) => {
      const ignored = ignoredFields(request.body, known)
      if (ignored.length > 0) reply.header('guiche-ignored', ignored.join(', '))
      done()
    })
  })
}

function fieldsOf(schema: unknown): ReadonlySet<string> | undefined {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return fieldsOf(schema.unwrap())
  return schema instanceof z.ZodObject ? new Set(Object.keys(schema.shape)) : undefined
}

function ignoredFields(body: unknown, known: ReadonlySet<string>): string[] {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return []
  const names: string[] = []
  for (const name in body) {
    if (known.has(name)) continue
    // Only characters that a header may have and that separate nothing.
    names.push(name.slice(0, MAX_NAME_LENGTH).replaceAll(/[^\w.-]/g, '?') || '?')
    if (names.length === MAX_NAMES) break
  }
  return names
}
