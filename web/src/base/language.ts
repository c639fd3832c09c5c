import { useSyncExternalStore } from 'react'

export const LANGUAGES = { 'pt-BR': 'Português', en: 'English' } as const
export type Language = keyof typeof LANGUAGES

const REMEMBERED = 'guiche.language'
const listeners = new Set<() => void>()
let language: Language = remembered() ?? preferred()
document.documentElement.lang = language

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

/** Portuguese and English. */
export type Pair = readonly [string, string]
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
  return useSyncExternalStore(subscribe, () => language)
}

export function setLanguage(chosen: Language): void {
  language = chosen
  document.documentElement.lang = chosen
  try {
    localStorage.setItem(REMEMBERED, chosen)
  } catch {
    // Storage is blocked: the choice lasts as long as the page.
  }
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function remembered(): Language | undefined {
  try {
    const text = localStorage.getItem(REMEMBERED)
    return text !== null && text in LANGUAGES ? (text as Language) : undefined
  } catch {
    return undefined
  }
}

/** As on the payment page: English for those who prefer neither. */
function preferred(): Language {
  for (const tag of navigator.languages) {
    if (tag.toLowerCase().startsWith('pt')) return 'pt-BR'
    if (tag.toLowerCase().startsWith('en')) return 'en'
  }
  return navigator.languages.length === 0 ? 'pt-BR' : 'en'
}
