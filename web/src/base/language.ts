import { useSyncExternalStore } from 'react'

export const LANGUAGES = { 'pt-BR': 'Português', en: 'English' } as const
export type Language = keyof typeof LANGUAGES

const REMEMBERED = 'guiche.language'
const listeners = new Set<() => void>()
let language: Language = remembered() ?? wished()
document.documentElement.lang = language

/**
 * The words of a page, in both languages, beside the page. Portuguese decides which there are; English must have the same ones.
 *
 *     const useWords = words({ 'pt-BR': { title: 'Depósitos' }, en: { title: 'Deposits' } })
 *     const t = useWords()
 */
export function words<const T extends Words>(texts: { 'pt-BR': T; en: NoInfer<Same<T>> }): () => Same<T> {
  const all: Record<Language, Same<T>> = { 'pt-BR': texts['pt-BR'] as unknown as Same<T>, en: texts.en }
  return () => all[useLanguage()]
}

// A text, a sentence with something in it, or a group of such.
// oxlint-disable-next-line typescript/no-explicit-any -- the arguments are whatever the sentence needs; Same<T> keeps their types
export type Words = { readonly [key: string]: string | readonly string[] | ((...args: any[]) => string) | Words }
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
    // Storage is closed to us: the choice lasts as long as the page.
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

/** As on the payment page: whoever wishes for neither of ours gets English. */
function wished(): Language {
  for (const tag of navigator.languages) {
    if (tag.toLowerCase().startsWith('pt')) return 'pt-BR'
    if (tag.toLowerCase().startsWith('en')) return 'en'
  }
  return navigator.languages.length === 0 ? 'pt-BR' : 'en'
}
