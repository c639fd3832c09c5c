import {
  useId,
  useState,
  type FormEvent,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react'
import { words } from '../base/language.ts'
import { ChevronDownIcon, EyeIcon, EyeOffIcon } from './icons.tsx'

const useWords = words({
  'pt-BR': {
    show: 'Mostrar a senha',
    hide: 'Ocultar a senha',
    optional: 'opcional',
    missing: 'Preencha este campo.',
    email: 'Informe um e-mail válido, como ana@loja.com.br.',
    url: 'Informe um endereço completo, como https://loja.com.br/webhook.',
    short: (count: number) => `Use ao menos ${count} caracteres.`,
    wrong: 'Confira o que está neste campo.',
  },
  en: {
    show: 'Show the password',
    hide: 'Hide the password',
    optional: 'optional',
    missing: 'Fill in this field.',
    email: 'Enter a valid e-mail address, such as ana@shop.com.',
    url: 'Enter a whole address, such as https://shop.com/webhook.',
    short: (count: number) => `Use at least ${count} characters.`,
    wrong: 'Check what is in this field.',
  },
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

/**
 * What the browser finds wrong, said in our words and our language: its own bubble speaks that of the browser. Told when the form is sent, and forgotten as soon
 * as something is typed.
 */
function useValidity() {
  const t = useWords()
  const [wrong, setWrong] = useState<string>()
  const textOf = ({ validity, type, minLength }: HTMLInputElement) => {
    if (validity.valueMissing) return t.missing
    if (validity.typeMismatch && type === 'email') return t.email
    if (validity.typeMismatch && type === 'url') return t.url
    return validity.tooShort ? t.short(minLength) : t.wrong
  }
  const onInvalid = (event: FormEvent<HTMLInputElement>) => {
    event.preventDefault()
    const input = event.currentTarget
    setWrong(textOf(input))
    // Which the browser would have done together with its bubble.
    if (input.form?.querySelector('input:invalid, select:invalid, textarea:invalid') === input) input.focus()
  }
  return { wrong, handlers: { onInvalid, onInput: () => setWrong(undefined) } }
}

export function Input({
  label,
  hint,
  error,
  isOptional,
  className = '',
  ...rest
}: Described & InputHTMLAttributes<HTMLInputElement>) {
  const { wrong, handlers } = useValidity()
  return (
    <Field {...described({ label, hint, error: error || wrong, isOptional })}>
      {(wiring) => <input {...wiring} {...handlers} {...rest} className={`${CONTROL} ${className}`} />}
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
  const { wrong, handlers } = useValidity()
  return (
    <Field {...described({ label, hint, error: error || wrong })}>
      {(wiring) => (
        <div className="relative">
          <input
            {...wiring}
            {...handlers}
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
