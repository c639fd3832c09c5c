import { useEffect } from 'react'
import { isCanceled } from '../base/api.ts'
import { useErrorText } from '../base/error-text.ts'
import { translations } from '../base/language.ts'
import { makeStore } from '../base/store.ts'
import { CheckIcon, CloseIcon, WarningIcon } from './icons.tsx'

const useTexts = translations({
  close: ['Fechar', 'Close'],
  region: ['Avisos', 'Notifications'],
})

/** Long enough to read; a failure stays longer. */
const SHOWN_MS = { good: 5_000, bad: 10_000 }
/** More would cover the page. */
const MAX_SHOWN = 3

type Shown = { id: number; tone: 'good' | 'bad'; about?: string | undefined; text?: string; error?: unknown }

const shown = makeStore<readonly Shown[]>([])
let lastId = 0

/**
 * `toast.good(t.saved)`, `toast.bad(error)`: for results that have no place of their own on the page. A later toast
 * `about` the same thing replaces it.
 */
export const toast = {
  good: (text: string, about?: string) => add({ tone: 'good', text, about }),
  bad: (error: unknown, about?: string) => (isCanceled(error) ? undefined : add({ tone: 'bad', error, about })),
}

export function Toasts() {
  const toasts = shown.use()
  const t = useTexts()
  return (
    <section
      aria-label={t.region}
      aria-live="polite"
      data-toasts
      className="pointer-events-none fixed inset-x-4 bottom-20 z-[60] flex flex-col items-center gap-2 sm:inset-x-auto sm:right-6 sm:bottom-6 sm:items-end"
    >
      {toasts.map((toast) => (
        <Toast key={toast.id} toast={toast} />
      ))}
    </section>
  )
}

function Toast({ toast: { id, tone, text, error } }: { toast: Shown }) {
  const t = useTexts()
  const errorText = useErrorText()
  useEffect(() => {
    const timer = setTimeout(() => remove(id), SHOWN_MS[tone])
    return () => clearTimeout(timer)
  }, [id, tone])
  const Icon = tone === 'good' ? CheckIcon : WarningIcon
  return (
    <div className="pointer-events-auto flex w-full max-w-sm animate-rise items-start gap-3 rounded-xl border border-line bg-raised py-3 pr-2 pl-4 shadow-float">
      <Icon className={`mt-0.5 size-5 ${tone === 'good' ? 'text-good' : 'text-bad'}`} />
      <p className="grow wrap-anywhere">{text ?? errorText(error)}</p>
      <button
        type="button"
        aria-label={t.close}
        onClick={() => remove(id)}
        className="-my-1 flex size-8 shrink-0 items-center justify-center rounded-lg text-soft hover:bg-hover hover:text-ink"
      >
        <CloseIcon className="size-4" />
      </button>
    </div>
  )
}

function add(toast: Omit<Shown, 'id'>): void {
  const others = shown.get().filter(({ about }) => about === undefined || about !== toast.about)
  shown.set([...others, { ...toast, id: ++lastId }].slice(-MAX_SHOWN))
}

function remove(id: number): void {
  shown.set(shown.get().filter((toast) => toast.id !== id))
}
