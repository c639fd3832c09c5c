import type { Pair } from '../base/pair.ts'
import type { Icon } from '../ui/icons.tsx'

/** A page or an action that the box finds by its name, in either language. */
export type Place = {
  name: string
  label: Pair
  icon: Icon
  /** Other words that people type for it. */
  words?: string
  act: { to: string; open?: string } | (() => void)
}

/** Places in which each typed word begins a word, best first: those whose own name begins so. */
export function matchPlaces(places: readonly Place[], typed: string): Place[] {
  const parts = wordsOf(typed)
  if (parts.length === 0) return []
  const begins = (text: string) => {
    const words = wordsOf(text)
    return parts.every((part) => words.some((word) => word.startsWith(part)))
  }
  const found = places.filter(({ label, words = '' }) => begins(`${label.join(' ')} ${words}`))
  return found.toSorted((a, b) => Number(b.label.some(begins)) - Number(a.label.some(begins)))
}

function wordsOf(text: string): string[] {
  return text
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean)
}
