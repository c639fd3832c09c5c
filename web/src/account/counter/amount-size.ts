/** The font of an amount: the longest, R$ 9.999.999.999,99, must fit a phone. */
export function amountSize({ length }: string): string {
  if (length > 14) return 'text-2xl'
  return length > 8 ? 'text-4xl' : 'text-6xl'
}
