import { crc32, deflateSync } from 'node:zlib'

// Pictures that are small enough to be written by hand, for the tests of logos.

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

export function pngChunk(type: string, body: Buffer = Buffer.alloc(0)): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), body])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(body.length)
  sum.writeUInt32BE(crc32(typed))
  return Buffer.concat([length, typed, sum])
}

/** `fields`: bit depth, colour type, compression, filter, interlace. */
export function pngHeader(width: number, height: number, fields = [8, 0, 0, 0, 0]): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width)
  header.writeUInt32BE(height, 4)
  header.set(fields, 8)
  return pngChunk('IHDR', header)
}

export function pngOf(...chunks: Buffer[]): Buffer {
  return Buffer.concat([SIGNATURE, ...chunks, pngChunk('IEND')])
}

/** Grey, without anything but the picture. */
export function grey(width: number, height: number): Buffer {
  return pngOf(pngHeader(width, height), pngChunk('IDAT', deflateSync(Buffer.alloc(height * (width + 1)))))
}

/** A part of a JPEG with its length. */
export function segment(marker: number, body: Buffer | string): Buffer {
  const bytes = Buffer.from(body)
  const head = Buffer.from([0xff, marker, 0, 0])
  head.writeUInt16BE(bytes.length + 2, 2)
  return Buffer.concat([head, bytes])
}

const FRAME = Buffer.from([8, 0, 2, 0, 3, 1, 1, 0x11, 0])
const SCAN = Buffer.concat([
  segment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
  Buffer.from([0x12, 0xff, 0, 0xff, 0xd0, 7]),
])
const BEGIN = Buffer.from([0xff, 0xd8])
const END = Buffer.from([0xff, 0xd9])

/** 3 × 2 pixels, whose parts are right and whose picture means nothing. `extra` stands before its frame. */
export function jpegOf(...extra: Buffer[]): Buffer {
  return Buffer.concat([BEGIN, ...extra, segment(0xdb, Buffer.alloc(65)), segment(0xc0, FRAME), SCAN, END])
}

export function riff(...chunks: [type: string, body: Buffer][]): Buffer {
  const parts = chunks.map(([type, body]) => {
    const chunk = Buffer.alloc(8 + body.length + (body.length % 2))
    chunk.write(type, 'latin1')
    chunk.writeUInt32LE(body.length, 4)
    body.copy(chunk, 8)
    return chunk
  })
  const body = Buffer.concat([Buffer.from('WEBP'), ...parts])
  const head = Buffer.from('RIFF\0\0\0\0', 'latin1')
  head.writeUInt32LE(body.length, 4)
  return Buffer.concat([head, body])
}

/** A frame of a lossy WebP with 3 × 2 pixels. */
export const VP8 = Buffer.from([0x10, 0, 0, 0x9d, 0x01, 0x2a, 3, 0, 2, 0, 1])
