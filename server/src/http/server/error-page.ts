import type { FastifyReply, FastifyRequest } from 'fastify'
import { html } from '../../base/html.ts'
import { readerOf, type Language } from './language.ts'
import { sendPage } from './page-layout.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Answers for a path that does not exist, or leaves it to the error page. */
    sendMissingPage?: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined
  }
}

/** For people who follow a link: the refusal that programs get as JSON, with advice. */
export function errorPage(reply: FastifyReply, request: FastifyRequest, refusal: { status: number }): FastifyReply {
  const { language } = readerOf(request)
  const { title, advice } = textsFor(refusal.status, language)
  // Payers are not users of the dashboard.
  const isPayers = request.url.startsWith('/payment-link/')
  const missing = refusal.status === 404 && !isPayers ? request.server.sendMissingPage?.(request, reply) : undefined
  if (missing) return missing
  const home = refusal.status === 404 && !isPayers && html`<p><a href="/">${HOME[language]}</a></p>`
  return sendPage(reply, {
    language,
    title,
    main: html`<main>
      <article class="card">
        <h1>${title}</h1>
        <p class="note">${advice}</p>
        ${home}
      </article>
    </main>`,
  })
}

const HOME: Record<Language, string> = { 'pt-BR': 'Ir para o início', en: 'Go to the home page', es: 'Ir al inicio' }

type Texts = { title: string; advice: string }

const TEXTS: Record<'missing' | 'busy' | 'broken' | 'refused', Record<Language, Texts>> = {
  missing: {
    'pt-BR': { title: 'Página não encontrada', advice: 'Confira o endereço: talvez falte uma parte.' },
    en: { title: 'Page not found', advice: 'Please check the address: part of it may be missing.' },
    es: { title: 'Página no encontrada', advice: 'Revise la dirección: puede faltar una parte.' },
  },
  busy: {
    'pt-BR': {
      title: 'Voltamos já',
      advice: 'O serviço está ocupado. Tente de novo em alguns segundos; nenhum pagamento se perde.',
    },
    en: {
      title: 'Back in a moment',
      advice: 'The service is busy. Please try again in a few seconds; no payment is lost.',
    },
    es: {
      title: 'Volvemos enseguida',
      advice: 'El servicio está ocupado. Intente de nuevo en unos segundos; ningún pago se pierde.',
    },
  },
  broken: {
    'pt-BR': {
      title: 'Algo deu errado',
      advice: 'O erro é nosso. Tente de novo em alguns instantes; nenhum pagamento se perde.',
    },
    en: {
      title: 'Something went wrong',
      advice: 'This is our mistake. Please try again in a moment; no payment is lost.',
    },
    es: {
      title: 'Algo salió mal',
      advice: 'La falla es nuestra. Intente de nuevo en un momento; ningún pago se pierde.',
    },
  },
  refused: {
    'pt-BR': { title: 'Pedido não aceito', advice: 'Confira o endereço e tente de novo.' },
    en: { title: 'Request refused', advice: 'Please check the address and try again.' },
    es: { title: 'Solicitud no aceptada', advice: 'Revise la dirección e intente de nuevo.' },
  },
}

function textsFor(status: number, language: Language): Texts {
  if (status === 404) return TEXTS.missing[language]
  if (status === 503 || status === 429) return TEXTS.busy[language]
  return (status >= 500 ? TEXTS.broken : TEXTS.refused)[language]
}
