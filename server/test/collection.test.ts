import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { makeCollection, type Collection } from '../src/http/docs/collection.ts'
import type { Document } from '../src/http/docs/openapi-postprocess.ts'
import { renderOpenapi } from '../src/http/render-openapi.ts'
import { world } from './world.ts'

// The API as a collection for Bruno: a folder of the repository, and a file to download.

const FOLDER = new URL('../../docs/bruno/', import.meta.url)

test('docs/bruno is what the routes say today', async () => {
  const files = filesOf(makeCollection(await readDocument()))
  if (process.env['UPDATE_DOCS']) writeFiles(files)
  const committed = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.yml'))
  const update = 'run `UPDATE_DOCS=1 npx vitest run test/collection.test.ts` and commit it'
  expect(committed.toSorted(), `docs/bruno is stale: ${update}`).toEqual([...files.keys()].toSorted())
  const stale = [...files].filter(([path, content]) => readFileSync(new URL(path, FOLDER), 'utf8') !== content)
  expect(
    stale.map(([path]) => path),
    `docs/bruno is stale: ${update}`,
  ).toEqual([])
})

/** As Bruno stores a collection: a file for each request, folder and environment. */
function filesOf({ items, config, ...collection }: Collection): Map<string, string> {
  const named = (name: string) => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  const contents: [string, object][] = [
    ['opencollection.yml', { ...collection, bundled: false }],
    ...config.environments.map((one): [string, object] => [`environments/${one.name}.yml`, one]),
    ...items.flatMap(({ items: requests, ...folder }): [string, object][] => [
      [`${named(folder.info.name)}/folder.yml`, folder],
      ...requests.map((request): [string, object] => [
        `${named(folder.info.name)}/${named(request.info.name)}.yml`,
        request,
      ]),
    ]),
  ]
  const files = new Map(contents.map(([path, content]) => [path, stringify(content, { lineWidth: 0 })]))
  // Two requests of one name would be one file.
  expect(files.size).toBe(contents.length)
  return files
}

function writeFiles(files: Map<string, string>): void {
  if (existsSync(FOLDER)) rmSync(FOLDER, { recursive: true })
  for (const [path, content] of files) {
    mkdirSync(dirname(new URL(path, FOLDER).pathname), { recursive: true })
    writeFileSync(new URL(path, FOLDER), content)
  }
}

test('the collection has each operation once, with the body of its example, and the parameters and the key that it needs', async () => {
  const document = await readDocument()
  const { items } = makeCollection(document)
  const requests = items.flatMap((folder) => folder.items.map((request) => ({ folder, request })))
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: operation.summary,
      address: `${method.toUpperCase()} {{url}}${path.replaceAll(/[{}]/g, '$&$&')}`,
      query: (operation.parameters ?? [])
        .filter((parameter) => parameter.in === 'query' && parameter.required)
        .map(({ name }) => name),
      hasBody: operation.requestBody?.content['application/json'] !== undefined,
      isPublic: operation.security?.length === 0,
      isOperators: path.startsWith('/api/operator'),
    })),
  )
  const found = requests.map(({ folder, request: { info, http } }) => ({
    name: info.name,
    address: `${http.method} ${http.url.replace(/\?.*/, '')}`,
    query: [...new URLSearchParams(/\?.*/.exec(http.url)?.[0]).keys()],
    hasBody: http.body !== undefined,
    isPublic: http.auth === undefined,
    isOperators: folder.request.auth !== 'inherit',
  }))
  const byAddress = (one: { address: string }, other: { address: string }) => (one.address < other.address ? -1 : 1)
  expect(found.toSorted(byAddress)).toEqual(operations.toSorted(byAddress))
  for (const { http } of requests.map(({ request }) => request)) {
    if (http.body) expect(JSON.parse(http.body.data)).toBeTypeOf('object')
    const switchedOn = http.params.filter(({ disabled }) => !disabled).map(({ name }) => name)
    expect(switchedOn).toEqual([...new URLSearchParams(/\?.*/.exec(http.url)?.[0]).keys()])
  }
})

test('both environments define every variable that a request uses, and hold no key', async () => {
  const collection = makeCollection(await readDocument())
  const used = [...JSON.stringify(collection).matchAll(/\{\{([^$}]+)\}\}/g)].map(([, name]) => name!)
  expect(collection.config.environments.map(({ name }) => name)).toEqual(['sandbox', 'production'])
  for (const { variables } of collection.config.environments) {
    expect(variables.map(({ name }) => name).toSorted()).toEqual([...new Set(used)].toSorted())
    const secrets = variables.filter((variable) => 'secret' in variable)
    expect(secrets).toEqual(['key', 'operatorKey'].map((name) => ({ name, secret: true })))
  }
})

test.each([
  ['https://pay.shop.example', 'production', 'http://localhost:3000'],
  ['http://localhost:8080', 'sandbox', 'https://pay.example.com'],
])('who downloads it from %s has that address in the environment %s', async (publicUrl, own, other) => {
  const w = await world({ settings: { publicUrl } })
  const { headers, body } = await w.app.inject('/docs/guiche.opencollection.json')
  expect(headers['content-type']).toBe('application/json; charset=utf-8')
  // It is one file, which is YAML too.
  const { bundled, opencollection, config } = parse(body) as Collection
  expect({ bundled, opencollection }).toEqual({ bundled: true, opencollection: '1.0.0' })
  const urls = config.environments.map(({ name, variables }) => [name, variables[0]])
  expect(urls).toContainEqual([own, { name: 'url', value: publicUrl }])
  expect(urls).toContainEqual([own === 'production' ? 'sandbox' : 'production', { name: 'url', value: other }])
})

async function readDocument(): Promise<Document> {
  return JSON.parse(await renderOpenapi()) as Document
}
