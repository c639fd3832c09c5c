import type { Pair } from './pair.ts'
import { makeStore, remember, remembered } from './store.ts'

export const LANGUAGES = { 'pt-BR': 'Português', en: 'English' } as const
export type Language = keyof typeof LANGUAGES

const NAME = 'guiche.language'
const language = makeStore(chosen() ?? preferred())
document.documentElement.lang = language.get()

/**
 * The texts of a component, in Portuguese and English.
 *
 *     const useTexts = translations({
 *       title: ['Depósitos', 'Deposits'],
 *       left: (money: string) => [`Até ${money}`, `Up to ${money}`],
 *     })
 *     const t = useTexts()
 */
export function translations<const T extends Texts>(texts: T): () => InOneLanguage<T> {
  const all: Record<Language, InOneLanguage<T>> = { 'pt-BR': pick(texts, 0), en: pick(texts, 1) }
  return () => all[useLanguage()]
}

/** Chooses the language of a text that is not in a table of its component. */
export function usePair(): (pair: Pair) => string {
  const index = useLanguage() === 'en' ? 1 : 0
  return (pair) => pair[index]
}

// oxlint-disable-next-line typescript/no-explicit-any -- the parameters differ by text; InOneLanguage keeps their types
type Texts = { readonly [key: string]: Pair | ((...args: any[]) => Pair) | Texts }
type InOneLanguage<T> = {
  readonly [K in keyof T]: T[K] extends Pair
    ? string
    : T[K] extends (...args: infer A) => Pair
      ? (...args: A) => string
      : InOneLanguage<T[K]>
}

function pick<T>(texts: T, index: 0 | 1): InOneLanguage<T>
function pick(texts: Texts, index: 0 | 1): object {
  return Object.fromEntries(
    Object.entries(texts).map(([key, text]) => {
      if (typeof text === 'function') return [key, (...args: unknown[]) => text(...args)[index]]
      return [key, Array.isArray(text) ? text[index] : pick(text as Texts, index)]
    }),
  )
}

export function useLanguage(): Language {
  return language.use()
}

export function setLanguage(chosen: Language): void {
  document.documentElement.lang = chosen
  remember(NAME, chosen)
  language.set(chosen)
}

function chosen(): Language | undefined {
  const text = remembered(NAME)
  return text !== null && text in LANGUAGES ? (text as Language) : undefined
}

/** Falls back to English for those who prefer neither, as on the payment page. */
function preferred(): Language {
  for (const tag of navigator.languages) {
    if (tag.toLowerCase().startsWith('pt')) return 'pt-BR'
    if (tag.toLowerCase().startsWith('en')) return 'en'
  }
  return navigator.languages.length === 0 ? 'pt-BR' : 'en'
}
