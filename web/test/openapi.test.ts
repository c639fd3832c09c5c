import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { endpointsByTag, exampleText, type Document } from '../src/pages/guide/openapi.ts'

const document = JSON.parse(readFileSync(new URL('../../server/openapi.json', import.meta.url), 'utf8')) as Document

test('every operation of the service stands in the reference, once', () => {
  const shown = endpointsByTag(document).flatMap(({ endpoints }) => endpoints.map(({ operationId }) => operationId))
  const all = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  expect(shown.toSorted()).toEqual(all.toSorted())
})

test('every answer in JSON has an example in which success is true', () => {
  const endpoints = endpointsByTag(document).flatMap((group) => group.endpoints)
  const wanting = endpoints.filter(({ responses }) => {
    const [, answer] = Object.entries(responses).find(([status]) => status.startsWith('2'))!
    const example = exampleText(document, answer.content)
    return example !== undefined && JSON.parse(example).success !== true
  })
  expect(wanting.map(({ operationId }) => operationId)).toEqual([])
})
