import { html, type Html } from '../../base/html.ts'
import type { Page } from '../server/page-layout.ts'
import {
  CODE_LANGUAGES,
  GUIDE_LANGUAGES,
  GUIDE_PAGES,
  readGuide,
  readSample,
  type CodeLanguage,
  type GuideLanguage,
  type GuidePageName,
} from './guide.ts'
import { GUIDE_STYLE } from './guide-style.ts'
import { renderBlock } from './markdown.ts'

/** Who reads, as the address and the browser tell. Every link keeps what was chosen. */
export type GuideReader = { language: GuideLanguage; isChosen: boolean; code: CodeLanguage }

/** A page of the guide. It needs no script: the code of another language is a link to the same place. */
export function guidePage(name: GuidePageName, reader: GuideReader, publicUrl: string): Page {
  const { title, blocks } = readGuide(name, reader.language, publicUrl)
  const texts = TEXTS[reader.language]
  const rendering = {
    linkTo: (href: string) => linkTo(href, reader),
    sample: (sample: string) => sampleBlock(sample, name, reader),
  }
  return {
    language: reader.language,
    title: `${title} · guiche`,
    style: GUIDE_STYLE,
    main: html`<a class="skip" href="#content">${texts.skip}</a>
      <div class="reference guide">
        ${contents(name, reader, publicUrl)}
        <main id="content">
          ${languageChoice(name, reader)}
          <h1>${title}</h1>
          ${blocks.map((block) => renderBlock(block, rendering))} ${neighbours(name, reader, publicUrl)}
        </main>
      </div>`,
  }
}

const TEXTS = {
  'pt-BR': {
    skip: 'Ir para o conteúdo',
    contents: 'Páginas',
    reference: 'Referência da API (em inglês)',
    code: 'Linguagem do código',
    name: 'Português',
  },
  en: {
    skip: 'Skip to the content',
    contents: 'Pages',
    reference: 'API reference',
    code: 'Language of the code',
    name: 'English',
  },
} satisfies Record<GuideLanguage, Record<string, string>>

function addressOf(name: GuidePageName, { language, isChosen, code }: GuideReader, anchor = ''): string {
  const query = new URLSearchParams({
    ...(isChosen && { lang: language }),
    ...(code.id !== CODE_LANGUAGES[0].id && { code: code.id }),
  }).toString()
  const path = name === GUIDE_PAGES[0] ? '/docs' : `/docs/${name}`
  return `${path}${query && `?${query}`}${anchor}`
}

/** Links to other pages of the guide are written as names of their files, which also works where these are read. */
function linkTo(href: string, reader: GuideReader): string {
  const [, file, anchor = ''] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? []
  const name = GUIDE_PAGES.find((page) => page === file)
  return name === undefined ? href : addressOf(name, reader, anchor)
}

function contents(current: GuidePageName, reader: GuideReader, publicUrl: string): Html {
  const texts = TEXTS[reader.language]
  return html`<nav aria-label="${texts.contents}">
    <ul>
      ${GUIDE_PAGES.map((name) => {
        const { title } = readGuide(name, reader.language, publicUrl)
        const address = addressOf(name, reader)
        return name === current
          ? html`<li><a href="${address}" aria-current="page">${title}</a></li>`
          : html`<li><a href="${address}">${title}</a></li>`
      })}
      <li><a href="/docs/reference" hreflang="en">${texts.reference}</a></li>
    </ul>
  </nav>`
}

function languageChoice(name: GuidePageName, reader: GuideReader): Html {
  const choices = GUIDE_LANGUAGES.map((language) =>
    language === reader.language
      ? html`<b lang="${language}">${TEXTS[language].name}</b>`
      : html`<a
          href="${addressOf(name, { ...reader, language, isChosen: true })}"
          hreflang="${language}"
          lang="${language}"
          >${TEXTS[language].name}</a
        >`,
  )
  return html`<p class="choices">${choices}</p>`
}

/** A program that does not exist in the language that was chosen is shown in the first that it is written in. */
function sampleBlock(sample: string, page: GuidePageName, reader: GuideReader): Html {
  const all = readSample(sample)
  const shown = all.find(({ language }) => language.id === reader.code.id) ?? all[0]
  if (!shown) throw new Error(`the guide shows the sample ${sample}, which does not exist`)
  const id = `sample-${sample}`
  const tabs = all.map(({ language }) =>
    language.id === shown.language.id
      ? html`<b>${language.name}</b>`
      : html`<a href="${addressOf(page, { ...reader, code: language }, `#${id}`)}" rel="nofollow">${language.name}</a>`,
  )
  return html`<div class="sample" id="${id}">
    <p class="choices" role="group" aria-label="${TEXTS[reader.language].code}">${tabs}</p>
    <pre><code>${shown.text}</code></pre>
  </div>`
}

function neighbours(name: GuidePageName, reader: GuideReader, publicUrl: string): Html {
  const at = GUIDE_PAGES.indexOf(name)
  const link = (to: GuidePageName, rel: 'prev' | 'next') => {
    const { title } = readGuide(to, reader.language, publicUrl)
    return html`<a rel="${rel}" href="${addressOf(to, reader)}">${rel === 'prev' ? `← ${title}` : `${title} →`}</a>`
  }
  const [before, after] = [GUIDE_PAGES[at - 1], GUIDE_PAGES[at + 1]]
  return html`<p class="neighbours">
    ${before ? link(before, 'prev') : html`<span></span>`} ${after && link(after, 'next')}
  </p>`
}
