import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { chosenLanguage, readerOf } from '../server/language.ts'
import { pageHeaders, pageText, type Page } from '../server/page-layout.ts'
import { makeServedDocument } from '../server/served-document.ts'
import { makeCollection } from './collection.ts'
import { CODE_LANGUAGES, GUIDE_LANGUAGES, GUIDE_PAGES, guideMarkdown, plainMarkdown } from './guide.ts'
import { guidePage, type GuideReader } from './guide-page.ts'
import { llmsFullText, llmsText } from './llms.ts'
import type { Document } from './openapi-postprocess.ts'
import { referencePage } from './reference-page.ts'

type Send = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

/** The guide and the reference for people at /docs, and the same for programs. All of it is public. */
export function docsRoutes(app: FastifyInstance, publicUrl: string): void {
  const document = () => app.swagger() as object as Document
  const send = (type: string, make: () => string): Send =>
    makeServedDocument(() => ({ headers: { 'content-type': `${type}; charset=utf-8` }, text: make() }))
  const json = send('application/json', () => JSON.stringify(document()))
  const forPrograms: Record<string, Send> = {
    '/openapi.json': json,
    '/docs/json': json,
    '/docs/yaml': send('application/yaml', () => app.swagger({ yaml: true })),
    '/docs/guiche.opencollection.json': send('application/json', () =>
      JSON.stringify(makeCollection(document(), publicUrl), null, 2),
    ),
    '/llms.txt': send('text/plain', () => llmsText(publicUrl)),
    '/llms-full.txt': send('text/plain', () => llmsFullText(publicUrl)),
  }
  for (const page of GUIDE_PAGES) {
    forPrograms[`/docs/${page}.md`] = send('text/markdown', () =>
      plainMarkdown(guideMarkdown(page, 'en', publicUrl), publicUrl),
    )
    app.get(
      page === GUIDE_PAGES[0] ? '/docs' : `/docs/${page}`,
      { schema: { hide: true } },
      guideHandler(page, publicUrl),
    )
  }
  for (const [url, answer] of Object.entries(forPrograms)) {
    app.get(url, { schema: { hide: true } }, async (request, reply) => {
      // These are public, so tools of other sites may read them.
      reply.headers({ 'access-control-allow-origin': '*', 'cross-origin-resource-policy': 'cross-origin' })
      return answer(request, reply)
    })
  }
  const reference = makeServedDocument(() => servedPage(referencePage(document(), publicUrl)))
  app.get('/docs/reference', { schema: { hide: true } }, reference)
}

/** A page is made once for each choice of a reader: two languages, and four of code. */
function guideHandler(page: (typeof GUIDE_PAGES)[number], publicUrl: string): Send {
  const made = new Map<string, Send>()
  return async (request, reply) => {
    const reader = guideReaderOf(request)
    const choice = `${reader.language} ${reader.isChosen} ${reader.code.id}`
    const known = made.get(choice)
    const send = known ?? makeServedDocument(() => servedPage(guidePage(page, reader, publicUrl), 'accept-language'))
    if (!known) made.set(choice, send)
    return send(request, reply)
  }
}

function servedPage(page: Page, alsoVaries?: string) {
  const vary = ['accept-encoding', ...(alsoVaries === undefined ? [] : [alsoVaries])].join(', ')
  return { headers: { ...pageHeaders(page), vary }, text: pageText(page) }
}

function guideReaderOf(request: FastifyRequest): GuideReader {
  const { code } = request.query as Record<string, unknown>
  // Whoever reads neither language reads English rather than Portuguese.
  const language = GUIDE_LANGUAGES.find((known) => known === readerOf(request).language) ?? 'en'
  return {
    language,
    isChosen: chosenLanguage(request.query) === language,
    code: CODE_LANGUAGES.find(({ id }) => id === code) ?? CODE_LANGUAGES[0],
  }
}
