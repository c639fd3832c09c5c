import { useSyncExternalStore } from 'react'

export const LANGUAGES = { 'pt-BR': 'Português', en: 'English' } as const
export type Language = keyof typeof LANGUAGES

const REMEMBERED = 'guiche.language'
const listeners = new Set<() => void>()
let language: Language = remembered() ?? preferred()
document.documentElement.lang = language

/**
 * The texts of a component in both languages, beside it. Portuguese sets the keys; English must have the same.
 *
 *     const useTexts = translations({ 'pt-BR': { title: 'Depósitos' }, en: { title: 'Deposits' } })
 *     const t = useTexts()
 */
export function translations<const T extends Texts>(texts: { 'pt-BR': T; en: NoInfer<Same<T>> }): () => Same<T> {
  const all: Record<Language, Same<T>> = { 'pt-BR': texts['pt-BR'] as unknown as Same<T>, en: texts.en }
  return () => all[useLanguage()]
}

// A text, a text with parameters, or a group of these.
// oxlint-disable-next-line typescript/no-explicit-any -- the parameters differ by text; Same<T> keeps their types
type Texts = { readonly [key: string]: string | readonly string[] | ((...args: any[]) => string) | Texts }
type Same<T> = {
  readonly [K in keyof T]: T[K] extends string
    ? string
    : T[K] extends readonly string[]
      ? readonly string[]
      : T[K] extends (...args: infer A) => string
        ? (...args: A) => string
        : Same<T[K]>
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
