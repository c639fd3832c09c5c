import type { ReactNode } from 'react'
import { useErrorText } from '../base/error-text.ts'
import { translations } from '../base/language.ts'
import { Button } from './button.tsx'
import { RefreshIcon, WarningIcon, type Icon } from './icons.tsx'

const useTexts = translations({
  failed: ['Não foi possível carregar', 'Unable to load'],
  retry: ['Tentar de novo', 'Try again'],
})

/** Holds the place of something that loads, in about its size, so that nothing jumps. */
export function Skeleton({ className = 'h-4 w-24' }: { className?: string }) {
  return (
    <span
      aria-hidden="true"
      className={`inline-block max-w-full animate-sheen rounded-md bg-still-ground align-middle ${className}`}
    />
  )
}

type StateProps = { title: ReactNode; text?: ReactNode; action?: ReactNode; icon?: Icon }

/** Nothing here yet: says what will be, and how to start. */
export function Empty({ title, text, action, icon: StateIcon }: StateProps) {
  return (
    <div className="flex flex-col items-center px-6 py-14 text-center">
      {StateIcon && (
        <div className="mb-4 rounded-full bg-still-ground p-3.5 text-still">
          <StateIcon className="size-6" />
        </div>
      )}
      <p className="font-semibold">{title}</p>
      {text && <p className="mt-1 max-w-sm text-soft">{text}</p>}
      {action && <div className="mt-5">{action}</div>}
    </div>
  )
}

/** Loading failed: why, and a button to retry. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const t = useTexts()
  const errorText = useErrorText()
  return (
    <div role="alert" className="flex flex-col items-center px-6 py-14 text-center">
      <div className="mb-4 rounded-full bg-bad-ground p-3.5 text-bad">
        <WarningIcon className="size-6" />
      </div>
      <p className="font-semibold">{t.failed}</p>
      <p className="mt-1 max-w-sm text-soft wrap-anywhere">{errorText(error)}</p>
      {onRetry && (
        <div className="mt-5">
          <Button icon={RefreshIcon} size="small" onClick={onRetry}>
            {t.retry}
          </Button>
        </div>
      )}
    </div>
  )
}
