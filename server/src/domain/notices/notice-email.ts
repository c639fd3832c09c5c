import { html, htmlText } from '../../base/html.ts'
import {
  noticeFacts,
  noticeText,
  type NoticeData,
  type NoticeKind,
  type NoticeLanguage,
  type What,
} from './notice-kinds.ts'

export type TellableNotice = { number: number; kind: NoticeKind; what: What; data: NoticeData; happenedAt: Date }

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
    mark: words[notice.what],
    at: momentText(language, notice.happenedAt),
    link: publicUrl + noticeFacts(notice.kind).path(notice.data),
  }))
  const more = count - listed.length
  const rest = more > 0 ? words.more(more) : ''
  const settings = `${publicUrl}/settings`
  const title = count === 1 ? noticeFacts(listed[0]!.kind).name[language] : words.several(count)
  const page = html`<!doctype html>
    <html lang="${language}">
      <body style="margin:0;padding:24px;font-family:system-ui,sans-serif;color:#1a1d21;background:#ffffff">
        <h1 style="font-size:18px;margin:0 0 16px">${title}</h1>
        ${lines.map(
          (line) =>
            html`<p style="margin:0 0 16px;line-height:1.5">
              <small style="color:#5b6470">${line.at} · ${line.mark}</small><br />
              ${line.text}<br />
              <a href="${line.link}">${words.show}</a>
            </p>`,
        )}
        ${rest && html`<p style="margin:0 0 16px">${rest} <a href="${publicUrl}/">${words.all}</a></p>`}
        <p style="margin:24px 0 0;color:#5b6470;font-size:13px">
          ${words.why} <a href="${settings}">${words.choose}</a>
        </p>
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

const FORMATS: Record<NoticeLanguage, Intl.DateTimeFormat> = {
  'pt-BR': momentFormat('pt-BR'),
  en: momentFormat('en-US'),
}

function momentFormat(locale: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat(locale, { timeZone: 'America/Sao_Paulo', dateStyle: 'short', timeStyle: 'short' })
}

/** In Brasília time, as everywhere on the pages. */
function momentText(language: NoticeLanguage, at: Date): string {
  return FORMATS[language].format(at)
}
