import Fastify from 'fastify'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { VERSION } from '../src/base/version.ts'
import { elementRoutes } from '../src/http/pay/element.ts'
import { world } from './world.ts'

// The script of the element, as shops load it.

const MAX_ELEMENT_BYTES = 6 * 1024

test('the script of the element comes from one address for all shops, compressed, and again only when it changed', async () => {
  const w = await world()
  const current = await w.app.inject({ url: '/elements/guiche-pix.js', headers: { 'accept-encoding': 'br' } })
  expect(current.statusCode).toBe(200)
  expect(current.headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'content-encoding': 'br',
    'cache-control': 'public, max-age=300',
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
    'x-content-type-options': 'nosniff',
  })
  const known = { 'if-none-match': String(current.headers.etag) }
  expect((await w.app.inject({ url: '/elements/guiche-pix.js', headers: known })).statusCode).toBe(304)

  const pinned = await w.app.inject(`/elements/guiche-pix-${VERSION}.js`)
  expect(pinned.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  expect(pinned.body).toBe(brotliDecompressSync(current.rawPayload).toString())
  for (const name of ['guiche-pix-0.0.1.js', 'guiche-pix', '../index.html'])
    expect([name, (await w.app.inject(`/elements/${name}`)).statusCode]).toEqual([name, 404])
})

test('the script is one file of at most 6 kB, and makes no markup, no style attribute and no code from text', async () => {
  const w = await world()
  const { body } = await w.app.inject('/elements/guiche-pix.js')
  expect(gzipSync(body).length).toBeLessThanOrEqual(MAX_ELEMENT_BYTES)
  expect(body).not.toMatch(
    /\bimport\s*["'({]|\bexport\b|innerHTML|outerHTML|\beval\b|new Function|data:image|\.style\./,
  )
})

test('a service that was not built has no script', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'guiche-element-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const statusOf = async () => {
    const app = Fastify()
    elementRoutes(app, `${folder}/`)
    const answer = await app.inject('/elements/guiche-pix.js')
    await app.close()
    return [answer.statusCode, answer.statusCode === 200 && answer.body]
  }
  expect(await statusOf()).toEqual([404, false])
  mkdirSync(join(folder, 'elements'))
  writeFileSync(join(folder, 'elements/guiche-pix.js'), '1')
  expect(await statusOf()).toEqual([200, '1'])
})
