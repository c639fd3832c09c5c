import {
  useId,
  useState,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react'
import { words } from '../base/language.ts'
import { ChevronDownIcon, EyeIcon, EyeOffIcon } from './icons.tsx'

const useWords = words({
  'pt-BR': { show: 'Mostrar a senha', hide: 'Ocultar a senha', optional: 'opcional' },
  en: { show: 'Show the password', hide: 'Hide the password', optional: 'optional' },
})

const CONTROL =
  'block w-full min-h-11 rounded-lg border border-edge bg-card px-3 text-ink placeholder:text-soft aria-invalid:border-bad disabled:opacity-60 focus-visible:outline-offset-0'

type Described = { label: ReactNode; hint?: ReactNode; error?: ReactNode; isOptional?: boolean }
type Wiring = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': true | undefined }

/** Label, control, hint and error, tied together for screen readers. The control gets what ties it. */
export function Field({
  label,
  hint,
  error,
  isOptional,
  children,
}: Described & { children: (wiring: Wiring) => ReactNode }) {
  const id = useId()
  const t = useWords()
  const describedBy = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(' ')
  return (
    <div className="space-y-1.5">
      <label htmlFor={id} className="block text-sm font-semibold">
        {label}
        {isOptional && <span className="ml-1.5 font-normal text-soft">({t.optional})</span>}
      </label>
      {children({ id, 'aria-describedby': describedBy || undefined, 'aria-invalid': error ? true : undefined })}
      {hint && (
        <p id={`${id}-hint`} className="text-sm text-soft">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} className="text-sm font-medium text-bad">
          {error}
        </p>
      )}
    </div>
  )
}

export function Input({
  label,
  hint,
  error,
  isOptional,
  className = '',
  ...rest
}: Described & InputHTMLAttributes<HTMLInputElement>) {
  return (
    <Field {...described({ label, hint, error, isOptional })}>
      {(wiring) => <input {...wiring} {...rest} className={`${CONTROL} ${className}`} />}
    </Field>
  )
}

export function PasswordInput({
  label,
  hint,
  error,
  className = '',
  ...rest
}: Described & InputHTMLAttributes<HTMLInputElement>) {
  const [isShown, setShown] = useState(false)
  const t = useWords()
  return (
    <Field {...described({ label, hint, error })}>
      {(wiring) => (
        <div className="relative">
          <input
            {...wiring}
            autoComplete="current-password"
            {...rest}
            type={isShown ? 'text' : 'password'}
            className={`${CONTROL} pr-11 ${className}`}
          />
          <button
            type="button"
            aria-label={isShown ? t.hide : t.show}
            aria-pressed={isShown}
            onClick={() => setShown(!isShown)}
            className="absolute inset-y-0 right-0 flex w-11 items-center justify-center rounded-lg text-soft hover:text-ink"
          >
            {isShown ? <EyeOffIcon /> : <EyeIcon />}
          </button>
        </div>
      )}
    </Field>
  )
}

export function Textarea({
  label,
  hint,
  error,
  isOptional,
  className = '',
  ...rest
}: Described & TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return (
    <Field {...described({ label, hint, error, isOptional })}>
      {(wiring) => <textarea rows={3} {...wiring} {...rest} className={`${CONTROL} py-2.5 ${className}`} />}
    </Field>
  )
}

type Choice = { value: string; label: string }

/** The browser's own: on a phone nothing is better. */
export function Select({
  label,
  hint,
  error,
  isOptional,
  choices,
  className = '',
  ...rest
}: Described & SelectHTMLAttributes<HTMLSelectElement> & { choices: readonly Choice[] }) {
  return (
    <Field {...described({ label, hint, error, isOptional })}>
      {(wiring) => (
        <div className="relative">
          <select {...wiring} {...rest} className={`${CONTROL} appearance-none pr-10 ${className}`}>
            {choices.map((choice) => (
              <option key={choice.value} value={choice.value}>
                {choice.label}
              </option>
            ))}
          </select>
          <ChevronDownIcon className="pointer-events-none absolute top-1/2 right-3 size-4 -translate-y-1/2 text-soft" />
        </div>
      )}
    </Field>
  )
}

export function Checkbox({
  label,
  hint,
  ...rest
}: { label: ReactNode; hint?: ReactNode } & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId()
  return (
    <div className="flex gap-3">
      <input
        type="checkbox"
        id={id}
        aria-describedby={hint ? `${id}-hint` : undefined}
        {...rest}
        className="mt-0.5 size-5 shrink-0 accent-accent"
      />
      <div>
        <label htmlFor={id} className="block font-medium">
          {label}
        </label>
        {hint && (
          <p id={`${id}-hint`} className="text-sm text-soft">
            {hint}
          </p>
        )}
      </div>
    </div>
  )
}

/** Leaves out what is not given: an optional property may not be undefined. */
function described(given: { [K in keyof Described]: Described[K] | undefined }): Described {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Described
}
