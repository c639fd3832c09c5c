import assert from 'node:assert/strict'
import fastJson from 'fast-json-stringify'
import type { FastifyReply } from 'fastify'
import { z } from 'zod'

type Serializer = (answer: unknown) => string

/**
 * Writes answers by code that is generated from their schemas. A field that the schema does not name is left out, and a
 * missing one is an error. Values are not checked: the compiler knows their types, and tests their formats.
 */
export function makeSerializer({ schema }: { schema: z.ZodType }): Serializer {
  let write: Serializer | undefined
  // Made with the first answer: most schemas are those of errors, which are sent as text.
  return (answer) => (write ??= compile(schema))(answer)
}

/** For tests: every answer must be what its schema allows, and the generated code must write just that. */
export function makeCheckedSerializer(route: { schema: z.ZodType }): Serializer {
  const write = makeSerializer(route)
  return (answer) => {
    const text = write(answer)
    assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(route.schema.parse(answer))))
    return text
  }
}

/** The text of an answer with status 200, for one who sends it by sendText(). */
export function textOf(reply: FastifyReply, answer: Record<string, unknown>): string {
  return reply.serializeInput(answer, '200', 'application/json') as string
}

export function sendText(reply: FastifyReply, text: string): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(text)
}

function compile(schema: z.ZodType): Serializer {
  const jsonSchema = z.toJSONSchema(schema, {
    // In this dialect null is a property of a type. As one of several types it would be looked for at run time.
    target: 'openapi-3.0',
    io: 'output',
    // Without names, so that every schema stands where it is used.
    metadata: z.registry(),
    // One of several shapes is recognized by its named fields; others are left out, as everywhere.
    override: ({ jsonSchema: part }) => {
      if (part.additionalProperties === false) delete part.additionalProperties
    },
  })
  return fastJson(jsonSchema as fastJson.AnySchema)
}
