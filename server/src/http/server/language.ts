export const LANGUAGES = ['pt-BR', 'en', 'es'] as const
export type Language = (typeof LANGUAGES)[number]

/** One of our three languages for texts, and the reader's region for numbers and dates. */
export type Reader = { language: Language; locale: string }

// More than any browser sends.
const MAX_PREFERENCES = 20

/** Without any preference it is Portuguese, and with preferences for other languages only, English. */
export function readerOf(request: { headers: { 'accept-language'?: string | undefined }; query: unknown }): Reader {
  const preferences = readPreferences(request.headers['accept-language'])
  const language = chosenLanguage(request.query) ?? preferredLanguage(preferences)
  // "en-GB" and "en-US" share the texts and differ in dates.
  const regional = preferences.find(
    (preference) => languageOfTag(preference.tag) === language && /^[a-z]{2}-([a-z]{2}|\d{3})$/.test(preference.tag),
  )
  return { language, locale: regional?.tag ?? LOCALES[language] }
}

/** The language chosen with `?lang=`, which links to other pages keep. */
export function chosenLanguage(query: unknown): Language | undefined {
  const chosen = (query as Record<string, unknown> | undefined)?.['lang']
  return LANGUAGES.find((language) => language === chosen)
}

// For tags without a region. Argentina writes amounts as Brazilian banks do.
const LOCALES: Record<Language, string> = { 'pt-BR': 'pt-BR', en: 'en-US', es: 'es-AR' }

type Preference = { tag: string; weight: number }

function preferredLanguage(preferences: Preference[]): Language {
  if (preferences.length === 0) return 'pt-BR'
  for (const { tag } of preferences) {
    const language = tag === '*' ? 'pt-BR' : languageOfTag(tag)
    if (language) return language
  }
  return 'en'
}

function languageOfTag(tag: string): Language | undefined {
  const primary = tag.split('-', 1)[0]
  return LANGUAGES.find((language) => language.split('-', 1)[0] === primary)
}

function readPreferences(acceptLanguage: string | undefined): Preference[] {
  return (acceptLanguage ?? '')
    .split(',', MAX_PREFERENCES)
    .map(readPreference)
    .filter((preference) => preference.tag !== '' && preference.weight > 0)
    .toSorted((first, second) => second.weight - first.weight)
}

function readPreference(text: string): Preference {
  const [tag = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  return { tag, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 }
}
