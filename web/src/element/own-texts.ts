// What the element says by itself. All else comes from the service, in the words of the payment page.

export type OwnTexts = { retrying: string; refused: string }

const TEXTS: Record<string, OwnTexts> = {
  pt: {
    retrying: 'O serviço de pagamento não responde. Tentando de novo…',
    refused: 'Este pagamento não pode ser exibido aqui.',
  },
  en: {
    retrying: 'The payment service does not answer. Trying again…',
    refused: 'This payment cannot be shown here.',
  },
  es: {
    retrying: 'El servicio de pago no responde. Intentando de nuevo…',
    refused: 'Este pago no se puede mostrar aquí.',
  },
}

/** The nearest `lang`, that of the element included. Empty if the page has none. */
export function languageOf(element: Element): string {
  return (element.closest<HTMLElement>('[lang]') ?? document.documentElement).lang
}

export function ownTexts(lang: string): OwnTexts {
  const found = [lang, ...navigator.languages, 'en'].find((tag) => TEXTS[primaryOf(tag)])
  return TEXTS[primaryOf(found!)]!
}

function primaryOf(tag: string): string {
  return tag.slice(0, 2).toLowerCase()
}
