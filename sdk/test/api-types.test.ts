import { readFile, readdir, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { OPERATIONS } from '../src/api.ts'
import { renderTypes, type Document } from './api-types.ts'

const SOURCE = new URL('../src/', import.meta.url)

test('api.ts and types.ts are what the OpenAPI document of the server says today', async () => {
  const document = await readFile(new URL('../../server/openapi.json', import.meta.url), 'utf8')
  for (const [name, text] of Object.entries(await renderTypes(JSON.parse(document) as Document))) {
    const file = new URL(name, SOURCE)
    if (process.env['UPDATE_SDK_TYPES']) await writeFile(file, text)
    expect(await readFile(file, 'utf8')).toBe(text)
  }
})

test('every operation of an account has a method', async () => {
  const names = (await readdir(SOURCE)).filter((name) => name !== 'api.ts')
  const sources = await Promise.all(names.map((name) => readFile(new URL(name, SOURCE), 'utf8')))
  const ofAccounts = Object.entries(OPERATIONS).filter(([, [, path]]) => !path.startsWith('/api/operator/'))
  expect(ofAccounts.filter(([id]) => !sources.some((source) => source.includes(`'${id}'`)))).toEqual([])
})
