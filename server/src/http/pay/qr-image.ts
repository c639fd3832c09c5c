import { crc32, deflateSync } from 'node:zlib'
import { encodeQR } from 'qr'
import { html, type Html } from '../../base/html.ts'
import { boundedMap } from '../server/rate-limit.ts'

// Recent images. A payment page is opened a few times, and its code never changes. About 10 kB each, 10 MB in all.
const MAX_KEPT = 1_000
const kept = {
  svg: boundedMap<Html>(MAX_KEPT),
  png: boundedMap<Buffer>(MAX_KEPT),
  modules: boundedMap<QrModules>(MAX_KEPT),
}

export function keptSvg(code: string, label: string): Html {
  return kept.svg.touch(`${label} ${code}`, () => qrSvg(qrMatrix(code), label))
}

export function keptPng(code: string, sizePx: number): Buffer {
  return kept.png.touch(`${sizePx} ${code}`, () => qrPng(qrMatrix(code), sizePx))
}

/** Its modules row by row, with the quiet zone: one bit each, the highest of a byte first, and 1 is dark. */
export type QrModules = { size: number; modules: string }

/** For those who draw it themselves. A twentieth of the SVG. */
export function keptModules(code: string): QrModules {
  return kept.modules.touch(code, () => qrModules(qrMatrix(code)))
}

/** Rows of modules (true is dark), with the quiet zone of four that scanners need. */
export type QrMatrix = boolean[][]

export function qrMatrix(text: string): QrMatrix {
  // Medium error correction is enough for a scratched screen. A very long code gets less, for larger modules.
  return encodeQR(text, 'raw', { ecc: text.length > LONG_CODE ? 'low' : 'medium', border: 4 })
}

// Longer than any code by the rules of the central bank, although API Pix allows 512 characters.
const LONG_CODE = 300

function qrModules(matrix: QrMatrix): QrModules {
  const bytes = Buffer.alloc(Math.ceil(matrix.length ** 2 / 8))
  matrix.flat().forEach((isDark, at) => {
    if (isDark) bytes[at >> 3]! |= 0x80 >> (at & 7)
  })
  return { size: matrix.length, modules: bytes.toString('base64') }
}

/** One dashed line per row of modules, an eighth of the size of one rectangle per module. */
function qrSvg(matrix: QrMatrix, label: string): Html {
  const size = matrix.length
  const path = matrix.map((row, y) => dashes(row, y)).join('')
  return html`<svg
    xmlns="http://www.w3.org/2000/svg"
    viewBox="0 0 ${size} ${size}"
    shape-rendering="crispEdges"
    role="img"
    aria-label="${label}"
  >
    <path fill="#fff" d="M0 0h${size}v${size}h-${size}z" />
    <path stroke="#000" d="${path}" />
  </svg>`
}

/** Exactly `sizePx` wide, unless the code needs more. Modules are whole pixels, and the rest is quiet zone. */
export function qrPng(matrix: QrMatrix, sizePx: number): Buffer {
  const scale = Math.max(1, Math.floor(sizePx / matrix.length))
  const width = Math.max(sizePx, matrix.length)
  const offset = Math.floor((width - matrix.length * scale) / 2)
  const lines = matrix.map((row) => pngRow(row, width, { scale, offset }))
  const blank = pngRow([], width, { scale, offset })
  const pixels = Buffer.concat(
    Array.from({ length: width }, (_, y) => lines[Math.floor((y - offset) / scale)] ?? blank),
  )
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', pngHeader(width)),
    pngChunk('IDAT', deflateSync(pixels)),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

function dashes(row: boolean[], y: number): string {
  let at = 0
  return darkRuns(row)
    .map(({ from, length }, index) => {
      const move = index === 0 ? `M${from} ${y}.5` : `m${from - at} 0`
      at = from + length
      return `${move}h${length}`
    })
    .join('')
}

function darkRuns(row: boolean[]): { from: number; length: number }[] {
  const runs: { from: number; length: number }[] = []
  row.forEach((isDark, x) => {
    const last = runs.at(-1)
    if (isDark && last && last.from + last.length === x) last.length += 1
    else if (isDark) runs.push({ from: x, length: 1 })
  })
  return runs
}

/** A filter byte, then one bit per pixel; 1 is white. */
function pngRow(row: boolean[], width: number, { scale, offset }: { scale: number; offset: number }): Buffer {
  const bytes = Buffer.alloc(1 + Math.ceil(width / 8), 0xff)
  bytes[0] = 0
  row.forEach((isDark, x) => {
    if (!isDark) return
    for (let pixel = offset + x * scale; pixel < offset + (x + 1) * scale; pixel++) {
      bytes[1 + (pixel >> 3)]! &= ~(0x80 >> (pixel & 7))
    }
  })
  return bytes
}

function pngHeader(width: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(width, 4)
  header[8] = 1 // one bit per pixel; the zeros that follow mean greyscale and defaults
  return header
}

function pngChunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(4)
  frame.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(typed))
  return Buffer.concat([frame, typed, sum])
}
