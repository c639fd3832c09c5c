import { execFileSync } from 'node:child_process'
import { inflateSync } from 'node:zlib'
import { expect } from 'vitest'
import type { World } from './world.ts'

// Reads pages and pictures, for the tests of what payers see.

type Answer = Awaited<ReturnType<World['app']['inject']>>

export async function openPage(w: World, paymentLinkId: string, headers: Record<string, string>, query = '') {
  return pageOf(await w.app.inject({ url: `/payment-link/${paymentLinkId}${query}`, headers }))
}

export function pageOf(answer: Answer) {
  expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
  const { body, headers } = answer
  const text = unescape(body.replace(/<(style|script)>[^]*?<\/\1>/g, '').replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ')
  return { status: answer.statusCode, headers, body, text, state: /data-state="(\w+)"/.exec(body)?.[1] }
}

export function unescape(text: string): string {
  const characters: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' }
  return text.replace(/&(lt|gt|quot|#39|amp);/g, (entity) => characters[entity]!)
}

/** A minimal PNG reader for one bit per pixel. It is strict about everything else. */
export function readPng(png: Buffer) {
  expect(png.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n')
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    chunks.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  }
  expect([...chunks.keys()]).toEqual(['IHDR', 'IDAT', 'IEND'])
  const [width, height] = [chunks.get('IHDR')!.readUInt32BE(0), chunks.get('IHDR')!.readUInt32BE(4)]
  const rows = inflateSync(chunks.get('IDAT')!)
  const stride = 1 + Math.ceil(width / 8)
  expect(rows).toHaveLength(stride * height)
  return draw(width, height, (x, y) => (rows[y * stride + 1 + (x >> 3)]! & (0x80 >> (x & 7))) === 0)
}

/** Draws the path of an SVG: M begins a row, m skips light modules, h draws dark ones. */
export function drawSvg(svg: string) {
  const size = Number(/viewBox="0 0 (\d+) \1"/.exec(svg)![1])
  const dark = new Set<string>()
  let [x, y] = [0, 0]
  const path = /stroke="#000" d="([^"]*)"/.exec(svg)![1]!
  expect(path).toMatch(/^(M\d+ \d+\.5h\d+(m\d+ 0h\d+)*)+$/)
  for (const [, command, first, second] of path.matchAll(/([Mmh])(\d+)(?: (\d+))?/g)) {
    if (command === 'M') [x, y] = [Number(first), Number(second)]
    else if (command === 'm') x += Number(first)
    else for (const end = x + Number(first); x < end; x++) dark.add(`${x} ${y}`)
  }
  const scale = 4
  return draw(size * scale, size * scale, (left, top) =>
    dark.has(`${Math.floor(left / scale)} ${Math.floor(top / scale)}`),
  )
}

/** Draws modules as the data of a payment has them. */
export function drawModules({ size, modules }: { size: number; modules: string }) {
  const bytes = Buffer.from(modules, 'base64')
  const scale = 4
  return draw(size * scale, size * scale, (left, top) => {
    const at = Math.floor(top / scale) * size + Math.floor(left / scale)
    return (bytes[at >> 3]! & (0x80 >> (at & 7))) !== 0
  })
}

function draw(width: number, height: number, isDark: (x: number, y: number) => boolean) {
  const data = new Uint8Array(width * height * 4).fill(255)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) if (isDark(x, y)) data.fill(0, (y * width + x) * 4, (y * width + x) * 4 + 3)
  return { width, height, data }
}

/** zbar-tools reads codes and shares nothing with the library that draws them. Most machines lack it. */
export const hasZbar = isRunnable('zbarimg')

export function readWithZbar(png: Buffer): string {
  const format = ['--quiet', '--raw', '--set', '*.enable=0', '--set', 'qrcode.enable=1']
  return execFileSync('zbarimg', [...format, '-'], {
    input: png,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'ignore'],
  }).trim()
}

function isRunnable(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
