// The title of the tab: before that of the page, how many deposits were paid while nobody saw it.

/** A number above this says as much as any greater one. */
const MOST = 99

let title = document.title
let paid = 0

export function nameTab(name: string): void {
  title = `${name} · guiche`
  show()
}

export function notePaid(): void {
  paid++
  show()
}

/** The page is seen. */
export function forgetPaid(): void {
  paid = 0
  show()
}

function show(): void {
  document.title = paid === 0 ? title : `(${paid > MOST ? `${MOST}+` : paid}) ${title}`
}
