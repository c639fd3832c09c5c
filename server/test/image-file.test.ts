import { deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readImage, type Image } from '../src/base/image-file.ts'
import { grey, jpegOf, pngChunk, pngHeader, pngOf, riff, segment, VP8 } from './image-samples.ts'

const LIMIT = { maxSide: 2_000 }
const read = (file: Buffer) => readImage(file, LIMIT)
const SECRET = 'GPS -23.55 -46.63 <script>alert(1)</script>'
const ROWS = pngChunk('IDAT', deflateSync(Buffer.alloc(6)))

async function kept(file: Buffer): Promise<Image> {
  const image = await read(file)
  if (typeof image === 'string') throw new Error(`refused: ${image}`)
  return image
}

test('a picture is kept byte for byte if it is nothing but a picture', async () => {
  expect(await kept(grey(2, 2))).toEqual({ type: 'png', width: 2, height: 2, bytes: grey(2, 2) })
  expect(await kept(jpegOf())).toEqual({ type: 'jpg', width: 3, height: 2, bytes: jpegOf() })
  const lossy = riff(['VP8 ', VP8])
  expect(await kept(lossy)).toEqual({ type: 'webp', width: 3, height: 2, bytes: lossy })
  const lossless = riff(['VP8L', Buffer.from([0x2f, 2, 0x40, 0, 0, 9])])
  expect(await kept(lossless)).toEqual({ type: 'webp', width: 3, height: 2, bytes: lossless })
})

test('metadata is left out, and the rest is the picture as it was', async () => {
  const text = pngChunk('tEXt', Buffer.from(`Comment\0${SECRET}`))
  const exif = pngChunk('eXIf', Buffer.from(SECRET))
  expect((await kept(pngOf(pngHeader(2, 2), text, exif, ROWS, text))).bytes).toEqual(pngOf(pngHeader(2, 2), ROWS))

  const app = segment(0xe1, `Exif\0\0${SECRET}`)
  const comment = segment(0xfe, SECRET)
  expect((await kept(jpegOf(segment(0xe0, 'JFIF\0thumbnail'), app, comment))).bytes).toEqual(jpegOf())
  // This one says how the colours are coded.
  const adobe = segment(0xee, Buffer.concat([Buffer.from('Adobe'), Buffer.alloc(7)]))
  expect((await kept(jpegOf(adobe))).bytes).toEqual(jpegOf(adobe))
  expect((await kept(jpegOf(segment(0xee, `Adobe${SECRET}`)))).bytes).toEqual(jpegOf())

  const extended = ['VP8X', Buffer.from([0x1c, 0, 0, 0, 2, 0, 0, 1, 0, 0])] as [string, Buffer]
  const notes = [
    ['EXIF', Buffer.from(SECRET)],
    ['XMP ', Buffer.from(SECRET)],
  ] as [string, Buffer][]
  const image = await kept(riff(extended, ['ALPH', Buffer.from([0, 1])], ['VP8 ', VP8], ...notes))
  expect(image.bytes.toString('latin1')).not.toContain('script')
  const flags = ['VP8X', Buffer.from([0x10, 0, 0, 0, 2, 0, 0, 1, 0, 0])] as [string, Buffer]
  expect(image.bytes).toEqual(riff(flags, ['ALPH', Buffer.from([0, 1])], ['VP8 ', VP8]))
})

test.each([
  ['nothing', Buffer.alloc(0), 'type'],
  ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'), 'type'],
  ['GIF', Buffer.from('GIF89a\x01\0\x01\0\0\0\0;'), 'type'],
  ['HTML', Buffer.from('<!doctype html><script>alert(1)</script>'), 'type'],
  ['PDF before a picture', Buffer.concat([Buffer.from('%PDF-1.7\n'), grey(1, 1)]), 'type'],
  ['a ZIP behind a PNG', Buffer.concat([grey(1, 1), Buffer.from('PK\x03\x04')]), 'damaged'],
  ['HTML behind a JPEG', Buffer.concat([jpegOf(), Buffer.from('<script>alert(1)</script>')]), 'damaged'],
  ['bytes behind a WebP', Buffer.concat([riff(['VP8 ', VP8]), Buffer.from('PK')]), 'damaged'],
  [
    'bytes behind the pixels of a PNG',
    pngOf(pngHeader(2, 2), pngChunk('IDAT', Buffer.concat([deflateSync(Buffer.alloc(6)), Buffer.from(SECRET)]))),
    'damaged',
  ],
  ['an animated PNG', pngOf(pngHeader(2, 2), pngChunk('acTL', Buffer.alloc(8)), ROWS), 'animated'],
  ['an animated WebP', riff(['VP8X', Buffer.alloc(10)], ['ANIM', Buffer.alloc(6)]), 'animated'],
  ['a frame of an animation', riff(['ANMF', Buffer.alloc(16)]), 'animated'],
  ['a PNG that is too wide', grey(2_001, 1), 'too_large'],
  ['a PNG that is too high', grey(1, 2_001), 'too_large'],
  ['a WebP that is too wide', riff(['VP8L', Buffer.from([0x2f, 0xff, 0x3f, 0, 0])]), 'too_large'],
  ['a PNG without pixels', pngOf(pngHeader(2, 2)), 'damaged'],
  ['a PNG of no height', pngOf(pngHeader(2, 0), ROWS), 'damaged'],
  ['a bomb', pngOf(pngHeader(2, 2), pngChunk('IDAT', deflateSync(Buffer.alloc(5_000_000)))), 'damaged'],
  ['too few pixels', pngOf(pngHeader(2, 3), ROWS), 'damaged'],
  ['an unknown part that matters', pngOf(pngHeader(2, 2), pngChunk('EVIL'), ROWS), 'damaged'],
  ['a palette that is not there', pngOf(pngHeader(2, 2, [8, 3, 0, 0, 0]), ROWS), 'damaged'],
  ['colours of 4 bits', pngOf(pngHeader(2, 2, [4, 2, 0, 0, 0]), ROWS), 'damaged'],
  ['a header that comes later', pngOf(ROWS, pngHeader(2, 2)), 'damaged'],
  ['two headers', pngOf(pngHeader(2, 2), pngHeader(2, 2), ROWS), 'damaged'],
  ['a JPEG without a scan', Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.from([0xff, 0xd9])]), 'damaged'],
  ['two frames', jpegOf(segment(0xc0, Buffer.from([8, 0, 2, 0, 3, 1, 1, 0x11, 0]))), 'damaged'],
  ['arithmetic coding', jpegOf(segment(0xc9, Buffer.alloc(9))), 'damaged'],
  ['a lossy and a lossless picture', riff(['VP8 ', VP8], ['VP8L', Buffer.from([0x2f, 2, 0x40, 0, 0])]), 'damaged'],
  ['a WebP without a picture', riff(['EXIF', Buffer.from(SECRET)]), 'damaged'],
])('%s is refused', async (_, file, reason) => {
  expect(await read(file)).toBe(reason)
})

test('a wrong check sum is damage, and so is an end that comes too soon', async () => {
  for (const whole of [grey(3, 3), jpegOf(), riff(['VP8 ', VP8])]) {
    for (let length = 12; length < whole.length; length++)
      expect(typeof (await read(whole.subarray(0, length)))).toBe('string')
  }
  const altered = grey(3, 3)
  altered[20]! ^= 1
  expect(await read(altered)).toBe('damaged')
})

test('a picture that is sent in two halves is counted pass by pass', async () => {
  for (const [width, height] of [
    [1, 1],
    [5, 3],
    [8, 8],
    [9, 17],
  ] as const) {
    // First column and row of each pass, and the steps to the next.
    const passes = [
      [0, 0, 8, 8],
      [4, 0, 8, 8],
      [0, 4, 4, 8],
      [2, 0, 4, 4],
      [0, 2, 2, 4],
      [1, 0, 2, 2],
      [0, 1, 1, 2],
    ] as const
    let bytes = 0
    for (const [left, top, across, down] of passes)
      for (let y = top; y < height; y += down) {
        const columns = Array.from({ length: width }, (_unused, x) => x).filter(
          (x) => x >= left && (x - left) % across === 0,
        )
        if (columns.length > 0) bytes += 1 + columns.length
      }
    const file = pngOf(pngHeader(width, height, [8, 0, 0, 0, 1]), pngChunk('IDAT', deflateSync(Buffer.alloc(bytes))))
    expect([width, height, typeof (await read(file))]).toEqual([width, height, 'object'])
  }
})

test('whatever is read is refused or kept, and what was kept is kept as it is', async () => {
  const samples = [grey(3, 3), jpegOf(), riff(['VP8 ', VP8], ['EXIF', Buffer.from(SECRET)])]
  const change = fc.record({ sample: fc.constantFrom(...samples), at: fc.nat(200), byte: fc.nat(255) })
  await fc.assert(
    fc.asyncProperty(change, async ({ sample, at, byte }) => {
      const file = Buffer.from(sample)
      file[at % file.length] = byte
      const image = await read(file)
      if (typeof image === 'string') return
      expect(await read(image.bytes)).toEqual(image)
    }),
  )
})
