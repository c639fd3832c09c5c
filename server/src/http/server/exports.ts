import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Context } from '../../domain/context.ts'
import type { Core } from '../../domain/core/core.ts'
import { readReport, type Report } from '../../domain/reports/read-report.ts'

/** Rows per read: a short query, and some hundred kB in memory. */
export const EXPORT_PAGE = 500

type Page<Row> = { rows: Row[]; nextCursor: string | null }
export type ReadPage<Row> = (core: Core, page: { limit: number; cursor?: string }) => Promise<Page<Row>>

/** What of a file is not rows. `tail` may throw, which breaks the download off. */
export type Form<Row> = {
  type: string
  fileName: string
  head: string
  line: (row: Row) => string
  tail?: (last: Row | undefined) => string
  /** UTF-8, if it is not said. */
  encode?: ((text: string) => Buffer) | undefined
}

/** Streams all pages, each read after the previous one was sent: a slow reader slows the queries. */
export async function sendRows<Row>(
  ctx: Context,
  reply: FastifyReply,
  form: Form<Row>,
  read: ReadPage<Row>,
): Promise<FastifyReply> {
  const readPage = (cursor?: string): Promise<Report<Page<Row>>> =>
    readReport(ctx, (core) => read(core, { limit: EXPORT_PAGE, ...(cursor !== undefined && { cursor }) }))
  // Read before anything is sent, so that an error gets a response of its own and does not truncate a file.
  const { result: first, ageSeconds } = await readPage()
  sayAge(reply, ageSeconds)
  const { type, fileName, encode = (text) => Buffer.from(text) } = form
  async function* pieces(): AsyncGenerator<Buffer> {
    yield encode(form.head)
    let last: Row | undefined
    for (let page: Page<Row> | undefined = first; page;) {
      if (page.rows.length > 0) yield encode(page.rows.map(form.line).join(''))
      last = page.rows.at(-1) ?? last
      page = page.nextCursor === null ? undefined : (await readPage(page.nextCursor)).result
    }
    const end = form.tail?.(last)
    if (end) yield encode(end)
  }
  return reply
    .type(type)
    .header('content-disposition', `attachment; filename="${fileName}"`)
    .send(Readable.from(pieces(), { objectMode: false, highWaterMark: 1 }))
}

/** Tells how old the data of a report are, if a standby gave them. */
export function sayAge(reply: FastifyReply, ageSeconds: number | null): void {
  if (ageSeconds !== null) reply.header('guiche-data-age', String(ageSeconds))
}
