import { html, htmlText, verbatim } from '../../base/html.ts'
import { noticeFacts, noticeText, type NoticeKind, type What } from './notice-kinds.ts'
import { momentText, type NoticeData, type NoticeLanguage } from './notice-words.ts'

export type TellableNotice = {
  number: number
  kind: NoticeKind
  what: What
  isOver: boolean
  data: NoticeData
  happenedAt: Date
}

type Mail = {
  publicUrl: string
  language: NoticeLanguage
  /** The oldest of `count`. */
  listed: TellableNotice[]
  count: number
}

/** One notice is told in the subject; several are listed. */
export function noticeEmail({ publicUrl, language, listed, count }: Mail): {
  subject: string
  text: string
  html: string
} {
  const words = WORDS[language]
  const lines = listed.map((notice) => ({
    text: noticeText(notice, language),
    mark: words[notice.isOver ? 'ended' : notice.what],
    at: momentText(notice.happenedAt, language),
    link: publicUrl + noticeFacts(notice.kind).path(notice.data),
  }))
  const more = count - listed.length
  const rest = more > 0 ? words.more(more) : ''
  const settings = `${publicUrl}/settings`
  const title = count === 1 ? noticeFacts(listed[0]!.kind).name[language] : words.several(count)
  const page = html`<!doctype html>
    <html lang="${language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        ${STYLE}
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${lines.map(
            (line) =>
              html`<p>
                <small>${line.at} · ${line.mark}</small><br />
                ${line.text}<br />
                <a href="${line.link}">${words.show}</a>
              </p>`,
          )}
          ${rest && html`<p>${rest} <a href="${publicUrl}/">${words.all}</a></p>`}
          <p>
            <small>${words.why} <a href="${settings}">${words.choose}</a></small>
          </p>
        </main>
      </body>
    </html>`
  const text = [
    title,
    ...lines.map((line) => `${line.at} · ${line.mark}\n${line.text}\n${line.link}`),
    ...(rest ? [`${rest} ${publicUrl}/`] : []),
    `${words.why} ${words.choose}: ${settings}`,
  ].join('\n\n')
  return { subject: `guiche: ${title}`, text: `${text}\n`, html: htmlText(page) }
}

// Mail programs that drop it show the same text in their own colours.
const STYLE = verbatim(`<style>
:root { color-scheme: light dark }
body { max-width: 600px; margin: 0 auto; padding: 24px; font: 16px/1.5 system-ui, sans-serif; color: #1a1d21; background: #ffffff }
h1 { font-size: 18px; margin: 0 0 16px }
p { margin: 0 0 16px; overflow-wrap: anywhere }
small { font-size: 13px; color: #5b6470 }
a { color: #0b63c5 }
@media (prefers-color-scheme: dark) {
  body { color: #e7e9ec; background: #16191d }
  small { color: #a3acb6 }
  a { color: #7ab7ff }
}
</style>`)

const WORDS = {
  'pt-BR': {
    began: 'em aberto',
    ended: 'resolvido',
    news: 'aviso',
    several: (count: number) => `${count} avisos`,
    more: (count: number) => `E mais ${count}.`,
    show: 'Ver no painel',
    all: 'Ver todos no painel',
    why: 'Você recebe estes avisos porque tem acesso ao guiche, no máximo um e-mail por hora.',
    choose: 'Escolher os avisos',
  },
  en: {
    began: 'open',
    ended: 'over',
    news: 'news',
    several: (count: number) => `${count} notices`,
    more: (count: number) => `And ${count} more.`,
    show: 'Show in the dashboard',
    all: 'Show all in the dashboard',
    why: 'You get these notices because you have access to guiche, at most one e-mail an hour.',
    choose: 'Choose what you get',
  },
}
