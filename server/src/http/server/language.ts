export const LANGUAGES = ['pt-BR', 'en', 'es'] as const
export type Language = (typeof LANGUAGES)[number]

/** How somebody wants to be written to: our words are in one of three languages, numbers and dates in the way of their region. */
export type Reader = { language: Language; locale: string }

// More wishes than any browser sends; the rest is not looked at.
const MAX_WISHES = 20

/**
 * The reader's best-liked language among ours, unless they chose one with `?lang=`. Whoever has no wish gets Portuguese, whoever wishes
 * for others only gets English.
 */
export function readerOf(request: { headers: { 'accept-language'?: string | undefined }; query: unknown }): Reader {
  const wishes = readWishes(request.headers['accept-language'])
  const language = chosenLanguage(request.query) ?? wishedLanguage(wishes)
  // "en-GB" and "en-US" read the same words and write other dates.
  const regional = wishes.find(
    (wish) => languageOfTag(wish.tag) === language && /^[a-z]{2}-([a-z]{2}|\d{3})$/.test(wish.tag),
  )
  return { language, locale: regional?.tag ?? LOCALES[language] }
}

/** What was chosen on a page, to be carried on to the next one. */
export function chosenLanguage(query: unknown): Language | undefined {
  const chosen = (query as Record<string, unknown> | undefined)?.['lang']
  return LANGUAGES.find((language) => language === chosen)
}

// Where the tag names no region. Spanish as in Argentina, next door: it writes amounts as Brazilian banks do.
const LOCALES: Record<Language, string> = { 'pt-BR': 'pt-BR', en: 'en-US', es: 'es-AR' }

type Wish = { tag: string; weight: number }

function wishedLanguage(wishes: Wish[]): Language {
  if (wishes.length === 0) return 'pt-BR'
  for (const { tag } of wishes) {
    const language = tag === '*' ? 'pt-BR' : languageOfTag(tag)
    if (language) return language
  }
  return 'en'
}

function languageOfTag(tag: string): Language | undefined {
  const primary = tag.split('-', 1)[0]
  return LANGUAGES.find((language) => language.split('-', 1)[0] === primary)
}

function readWishes(acceptLanguage: string | undefined): Wish[] {
  return (acceptLanguage ?? '')
    .split(',', MAX_WISHES)
    .map(readWish)
    .filter((wish) => wish.tag !== '' && wish.weight > 0)
    .toSorted((one, other) => other.weight - one.weight)
}

function readWish(text: string): Wish {
  const [tag = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  return { tag, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 }
}
