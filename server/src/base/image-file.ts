import { crc32, inflate } from 'node:zlib'

// Pictures that strangers upload and browsers show. A file is read part by part, and only the parts that make the
// picture are written again: no metadata, no thumbnail, and nothing behind the end, where another format could hide.

export const IMAGE_TYPES = { png: 'image/png', jpg: 'image/jpeg', webp: 'image/webp' } as const
export type ImageType = keyof typeof IMAGE_TYPES
export type Image = { type: ImageType; width: number; height: number; bytes: Buffer }

/** type: it is no PNG, JPEG or WebP. too_large: in pixels. */
type ImageRefusal = 'type' | 'damaged' | 'animated' | 'too_large'

/** A picture that browsers would draw, and no more than that. Or why not. */
export async function readImage(file: Buffer, { maxSide }: { maxSide: number }): Promise<Image | ImageRefusal> {
  try {
    const image = await parse(file, maxSide)
    if (image === undefined) return 'type'
    return image
  } catch (error) {
    if (error instanceof Refused) return error.reason
    // A part that ends too soon.
    if (error instanceof RangeError) return 'damaged'
    throw error
  }
}

async function parse(file: Buffer, maxSide: number): Promise<Image | undefined> {
  if (file.subarray(0, 8).equals(PNG_SIGNATURE)) return readPng(file, maxSide)
  if (file.length >= 3 && file.readUIntBE(0, 3) === 0xffd8ff) return readJpeg(file, maxSide)
  if (ascii(file, 0) === 'RIFF' && ascii(file, 8) === 'WEBP') return readWebp(file, maxSide)
  return undefined
}

class Refused extends Error {
  override name = 'Refused'
  readonly reason: ImageRefusal

  constructor(reason: ImageRefusal) {
    super(reason)
    this.reason = reason
  }
}

function demand(isTrue: boolean, otherwise: ImageRefusal = 'damaged'): void {
  if (!isTrue) throw new Refused(otherwise)
}

function checkSides(width: number, height: number, maxSide: number): void {
  demand(width > 0 && height > 0)
  demand(width <= maxSide && height <= maxSide, 'too_large')
}

function ascii(file: Buffer, at: number): string {
  return file.toString('latin1', at, at + 4)
}

// ---- PNG ----

const PNG_SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
/** By colour type: samples of a pixel, and how many bits each may have. */
const PNG_COLORS: Record<number, [samples: number, depths: number[]]> = {
  0: [1, [1, 2, 4, 8, 16]],
  2: [3, [8, 16]],
  3: [1, [1, 2, 4, 8]],
  4: [2, [8, 16]],
  6: [4, [8, 16]],
}
// A picture that is sent in two halves has these passes: first column and row, and the steps to the next.
const PNG_PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const

async function readPng(file: Buffer, maxSide: number): Promise<Image> {
  const kept = new Map<string, Buffer>()
  const data: Buffer[] = []
  let last = ''
  for (let at = 8; last !== 'IEND';) {
    const length = file.readUInt32BE(at)
    const type = ascii(file, at + 4)
    const end = at + 12 + length
    demand(end <= file.length && file.readUInt32BE(end - 4) === crc32(file.subarray(at + 4, end - 4)))
    const body = file.subarray(at + 8, end - 4)
    demand((last === '') === (type === 'IHDR'))
    demand(!['acTL', 'fcTL', 'fdAT'].includes(type), 'animated')
    if (type === 'IDAT') {
      demand(data.length === 0 || last === 'IDAT')
      data.push(body)
    } else if (['IHDR', 'PLTE', 'tRNS', 'IEND'].includes(type)) {
      demand(!kept.has(type) && (data.length === 0 || type === 'IEND'))
      kept.set(type, body)
      // A capital letter marks a part that must be understood.
    } else demand(/^[a-z][A-Za-z]{3}$/.test(type))
    last = type
    at = end
    demand(last !== 'IEND' || at === file.length)
  }
  const header = kept.get('IHDR')!
  demand(header.length === 13 && kept.get('IEND')!.length === 0)
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  checkSides(width, height, maxSide)
  const packed = Buffer.concat(data)
  await checkPixels(packed, pixelBytes(header, { width, height, hasPalette: kept.has('PLTE') }))
  const chunks = ['IHDR', 'PLTE', 'tRNS'].flatMap((type) => (kept.has(type) ? pngChunk(type, kept.get(type)!) : []))
  const bytes = Buffer.concat([PNG_SIGNATURE, ...chunks, pngChunk('IDAT', packed), pngChunk('IEND', Buffer.alloc(0))])
  return { type: 'png', width, height, bytes }
}

/** How many bytes the rows come to, each with its filter. */
function pixelBytes(header: Buffer, size: { width: number; height: number; hasPalette: boolean }): number {
  const [depth = 0, color = 0, compression, filter, interlace = 0] = header.subarray(8)
  const [samples, depths] = PNG_COLORS[color] ?? [0, []]
  demand(depths.includes(depth) && compression === 0 && filter === 0 && interlace <= 1)
  demand(color !== 3 || size.hasPalette)
  const passes = interlace === 0 ? [[0, 0, 1, 1] as const] : PNG_PASSES
  return passes.reduce((total, [left, top, across, down]) => {
    const columns = Math.ceil((size.width - left) / across)
    const rows = Math.ceil((size.height - top) / down)
    return columns > 0 && rows > 0 ? total + rows * (1 + Math.ceil((columns * samples * depth) / 8)) : total
  }, 0)
}

/** Neither a bomb nor anything behind the picture. */
async function checkPixels(packed: Buffer, wantedBytes: number): Promise<void> {
  const { buffer, engine } = await inflated(packed, wantedBytes)
  demand(buffer.length === wantedBytes && engine.bytesWritten === packed.length)
}

/** `bytesWritten`: how much of the input belonged to it. */
type Inflated = { buffer: Buffer; engine: { bytesWritten: number } }

function inflated(packed: Buffer, maxOutputLength: number): Promise<Inflated> {
  return new Promise((resolve, reject) => {
    inflate(packed, { info: true, maxOutputLength }, (error, result) => {
      if (error) reject(new Refused('damaged'))
      // The types do not know what `info` does.
      else resolve(result as unknown as Inflated)
    })
  })
}

function pngChunk(type: string, body: Buffer): Buffer {
  const chunk = Buffer.alloc(body.length + 12)
  chunk.writeUInt32BE(body.length)
  chunk.write(type, 4, 'latin1')
  body.copy(chunk, 8)
  chunk.writeUInt32BE(crc32(chunk.subarray(4, -4)), body.length + 8)
  return chunk
}

// ---- JPEG ----

const JPEG = { frames: [0xc0, 0xc1, 0xc2], tables: [0xc4, 0xdb, 0xdd], scan: 0xda, end: 0xd9, adobe: 0xee }

function readJpeg(file: Buffer, maxSide: number): Image {
  const parts = [file.subarray(0, 2)]
  let size: { width: number; height: number } | undefined
  let scans = 0
  for (let at = 2; ;) {
    demand(file.readUInt8(at) === 0xff)
    const marker = file.readUInt8(at + 1)
    if (marker === JPEG.end) {
      demand(size !== undefined && scans > 0 && at + 2 === file.length)
      const bytes = Buffer.concat([...parts, file.subarray(at)])
      return { type: 'jpg', ...size!, bytes }
    }
    const end = at + 2 + file.readUInt16BE(at + 2)
    demand(end >= at + 4 && end <= file.length)
    const { frames, tables, scan, adobe } = JPEG
    if (frames.includes(marker)) {
      demand(size === undefined)
      size = { height: file.readUInt16BE(at + 5), width: file.readUInt16BE(at + 7) }
      checkSides(size.width, size.height, maxSide)
      parts.push(file.subarray(at, end))
    } else if (marker === scan) {
      demand(size !== undefined)
      scans += 1
      const scanEnd = endOfScan(file, end)
      parts.push(file.subarray(at, scanEnd))
      at = scanEnd
      continue
    } else if (tables.includes(marker) || (marker === adobe && isAdobe(file, at, end))) {
      parts.push(file.subarray(at, end))
    } else {
      // Comments and application data are left out; whatever else stands here is no JPEG that browsers draw.
      demand(marker === 0xfe || (marker >= 0xe0 && marker <= 0xef))
    }
    at = end
  }
}

/** It says how the colours are coded, so without it they would be wrong. */
function isAdobe(file: Buffer, at: number, end: number): boolean {
  return end - at === 16 && file.toString('latin1', at + 4, at + 9) === 'Adobe'
}

/** A scan has no length: it goes on to the next marker that is neither a restart nor an escaped byte. */
function endOfScan(file: Buffer, start: number): number {
  for (let at = file.indexOf(0xff, start); at >= 0; at = file.indexOf(0xff, at + 2)) {
    const next = file.readUInt8(at + 1)
    if (next !== 0 && !(next >= 0xd0 && next <= 0xd7)) return at
  }
  throw new Refused('damaged')
}

// ---- WebP ----

function readWebp(file: Buffer, maxSide: number): Image {
  demand(file.readUInt32LE(4) === file.length - 8)
  const chunks = new Map<string, Buffer>()
  for (let at = 12; at < file.length;) {
    const type = ascii(file, at)
    const length = file.readUInt32LE(at + 4)
    demand(at + 8 + length <= file.length)
    demand(type !== 'ANIM' && type !== 'ANMF', 'animated')
    demand(!chunks.has(type) || !['VP8X', 'ALPH', 'VP8 ', 'VP8L'].includes(type))
    chunks.set(type, file.subarray(at + 8, at + 8 + length))
    // Each part begins at an even place.
    at += 8 + length + (length % 2)
    demand(at <= file.length)
  }
  const [lossy, lossless, alpha] = [chunks.get('VP8 '), chunks.get('VP8L'), chunks.get('ALPH')]
  demand((lossy === undefined) !== (lossless === undefined) && (alpha === undefined || lossy !== undefined))
  const { width, height } = lossy ? sizeOfLossy(lossy) : sizeOfLossless(lossless!)
  checkSides(width, height, maxSide)
  const parts = lossy ? [webpChunk('VP8 ', lossy)] : [webpChunk('VP8L', lossless!)]
  if (alpha) parts.unshift(webpChunk('VP8X', extendedHeader(width, height)), webpChunk('ALPH', alpha))
  const body = Buffer.concat([Buffer.from('WEBP', 'latin1'), ...parts])
  const head = Buffer.from('RIFF\0\0\0\0', 'latin1')
  head.writeUInt32LE(body.length, 4)
  return { type: 'webp', width, height, bytes: Buffer.concat([head, body]) }
}

function sizeOfLossy(frame: Buffer) {
  // A key frame, and its start code.
  demand((frame.readUInt8(0) & 1) === 0 && frame.readUIntBE(3, 3) === 0x9d012a)
  return { width: frame.readUInt16LE(6) & 0x3fff, height: frame.readUInt16LE(8) & 0x3fff }
}

function sizeOfLossless(frame: Buffer) {
  demand(frame.readUInt8(0) === 0x2f)
  const bits = frame.readUInt32LE(1)
  demand(bits >>> 29 === 0)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}

const HAS_ALPHA = 0x10

function extendedHeader(width: number, height: number): Buffer {
  const header = Buffer.alloc(10)
  header.writeUInt8(HAS_ALPHA)
  header.writeUIntLE(width - 1, 4, 3)
  header.writeUIntLE(height - 1, 7, 3)
  return header
}

function webpChunk(type: string, body: Buffer): Buffer {
  const chunk = Buffer.alloc(8 + body.length + (body.length % 2))
  chunk.write(type, 0, 'latin1')
  chunk.writeUInt32LE(body.length, 4)
  body.copy(chunk, 8)
  return chunk
}
