const FIELDS = 'input:not([type=hidden], :disabled, [readonly]), select:not(:disabled), textarea:not(:disabled)'

/** Focuses the first field, or the first one that is still empty. Returns false if there is no field. */
export function focusField(place: Element | null, { prefersEmpty = false } = {}): boolean {
  const fields = [...(place?.querySelectorAll<HTMLInputElement>(FIELDS) ?? [])]
  const field = (prefersEmpty ? fields.find(({ value }) => value === '') : undefined) ?? fields[0]
  field?.focus({ preventScroll: true })
  return field !== undefined
}
