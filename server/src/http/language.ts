export type Language = 'pt-BR' | 'en'

// More wishes than any browser sends; the rest is not looked at.
const MAX_WISHES = 20

/** The reader's best-liked language among ours. Whoever has no wish gets Portuguese, whoever wishes for others only gets English. */
export function languageOf(acceptLanguage: string | undefined): Language {
  const wishes = (acceptLanguage ?? '')
    .split(',', MAX_WISHES)
    .map(readWish)
    .filter((wish) => wish.tag !== '' && wish.weight > 0)
    .toSorted((one, other) => other.weight - one.weight)
  if (wishes.length === 0) return 'pt-BR'
  for (const { tag } of wishes) {
    if (tag === '*' || tag === 'pt' || tag.startsWith('pt-')) return 'pt-BR'
    if (tag === 'en' || tag.startsWith('en-')) return 'en'
  }
  return 'en'
}

function readWish(text: string): { tag: string; weight: number } {
  const [tag = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  return { tag, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 }
}
