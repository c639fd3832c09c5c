import {
  useId,
  useState,
  type FormEvent,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react'
import { isCanceled } from '../../base/api.ts'
import { useErrorText } from '../../base/error-text.ts'
import { translations } from '../../base/language.ts'
import { Button } from '../button.tsx'
import { ChevronDownIcon, EyeIcon, EyeOffIcon } from '../icons.tsx'
import { Notice } from '../notice.tsx'

// The server refuses other lengths.
const PASSWORD_MIN = 12
const PASSWORD_MAX = 200

const useTexts = translations({
  show: ['Mostrar senha', 'Show password'],
  hide: ['Ocultar senha', 'Hide password'],
  optional: ['opcional', 'optional'],
  missing: ['Preencha este campo.', 'This field is required.'],
  email: ['Informe um e-mail válido, como ana@loja.com.br.', 'Enter a valid email address, such as ana@shop.com.'],
  url: [
    'Informe a URL completa, como https://loja.com.br/webhook.',
    'Enter a full URL, such as https://shop.com/webhook.',
  ],
  short: (count: number) => [`Use ao menos ${count} caracteres.`, `Use at least ${count} characters.`],
  wrong: ['Confira este campo.', 'Check this field.'],
  newPassword: ['Nova senha', 'New password'],
  newPasswordHint: [
    `Pelo menos ${PASSWORD_MIN} caracteres. Uma frase é fácil de lembrar e difícil de adivinhar.`,
    `At least ${PASSWORD_MIN} characters. A sentence is easy to remember and hard to guess.`,
  ],
})

/** The part of a mutation that a form needs. */
type Sending = { isPending: boolean; error: Error | null }

/** A refusal of the server, in the form's own words where it has better ones. */
export function FormError(props: {
  error: Error | null
  text?: ((error: Error) => string | undefined) | undefined
  action?: ReactNode
}) {
  const errorText = useErrorText()
  const { error } = props
  if (!error || isCanceled(error)) return null
  return (
    <Notice tone="bad" action={props.action}>
      {props.text?.(error) ?? errorText(error)}
    </Notice>
  )
}

/** A form on a page: sent once at a time, with the refusal above its button. */
export function Form(props: {
  sending: Sending
  onSend: () => void
  action: string
  /** Shown with a refusal, such as a link to the way out. */
  errorAction?: ReactNode
  /** The button takes the form's width. */
  isWide?: boolean
  className?: string
  children: ReactNode
}) {
  const { sending, isWide = false } = props
  return (
    <form onSubmit={whenSubmitted(sending, props.onSend)} className={`space-y-5 ${props.className ?? ''}`}>
      {props.children}
      <FormError error={sending.error} action={props.errorAction} />
      <Button
        type="submit"
        kind={isWide ? 'primary' : 'secondary'}
        isBusy={sending.isPending}
        className={isWide ? 'w-full' : ''}
      >
        {props.action}
      </Button>
    </form>
  )
}

export function whenSubmitted(sending: Sending, onSend: () => void): (event: FormEvent) => void {
  return (event) => {
    event.preventDefault()
    if (!sending.isPending) onSend()
  }
}

/** What is typed into a form: `<Input {...field('name')} label={t.name} />`. */
export function useFields<Fields extends object>(initial: Fields | (() => Fields), onEdit?: () => void) {
  const [typed, setTyped] = useState(initial)
  const set = (changes: Partial<Fields>) => {
    setTyped((typed) => ({ ...typed, ...changes }))
    onEdit?.()
  }
  const field = <Name extends keyof Fields>(name: Name) => ({
    value: typed[name],
    // TypeScript widens a computed key to string.
    onChange: (value: Fields[Name]) => set({ [name]: value } as unknown as Partial<Fields>),
  })
  return { typed, set, field }
}

/** Shows a field's own error after the first attempt to send. Each attempt calls `onCheck`. */
export function useCheck(isValid: boolean): { isWrong: boolean; onCheck: () => boolean } {
  const [isTried, setTried] = useState(false)
  const onCheck = () => {
    setTried(true)
    return isValid
  }
  return { isWrong: isTried && !isValid, onCheck }
}

const CONTROL =
  'block w-full min-h-11 rounded-lg border border-edge bg-card px-3 text-ink placeholder:text-soft aria-invalid:border-bad disabled:opacity-60 focus-visible:outline-offset-0'

type Described = {
  label: ReactNode
  hint?: ReactNode
  error?: ReactNode
  isOptional?: boolean | undefined
}
type Wiring = { id: string; 'aria-describedby': string | undefined; 'aria-invalid': true | undefined }

/** Label, control, hint and error, linked for screen readers. The control gets the attributes that link it. */
function Field({ label, hint, error, isOptional, children }: Described & { children: (wiring: Wiring) => ReactNode }) {
  const id = useId()
  const t = useTexts()
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

/** Shows our texts for the browser's validation, because its bubble uses the browser's language. Input clears them. */
function useValidity() {
  const t = useTexts()
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
    // The browser would have set the focus together with its bubble.
    if (input.form?.querySelector('input:invalid, select:invalid, textarea:invalid') === input) input.focus()
  }
  return { wrong, handlers: { onInvalid, onInput: () => setWrong(undefined) } }
}

/** The attributes of an element, with `onChange` given the new value alone. */
type Controlled<Attributes, Value> = Omit<Attributes, 'onChange'> & { onChange: (value: Value) => void }
export type InputProps = Described & Controlled<InputHTMLAttributes<HTMLInputElement>, string>

export function Input({ label, hint, error, isOptional, className = '', onChange, ...rest }: InputProps) {
  const { wrong, handlers } = useValidity()
  return (
    <Field label={label} hint={hint} error={error || wrong} isOptional={isOptional}>
      {(wiring) => (
        <input
          {...wiring}
          {...handlers}
          autoComplete="off"
          {...rest}
          onChange={(event) => onChange(event.target.value)}
          className={`${CONTROL} ${className}`}
        />
      )}
    </Field>
  )
}

type TextAreaProps = Described & Controlled<TextareaHTMLAttributes<HTMLTextAreaElement>, string>

export function TextArea({ label, hint, error, isOptional, className = '', onChange, ...rest }: TextAreaProps) {
  return (
    <Field label={label} hint={hint} error={error} isOptional={isOptional}>
      {(wiring) => (
        <textarea
          {...wiring}
          rows={3}
          {...rest}
          onChange={(event) => onChange(event.target.value)}
          className={`${CONTROL} py-2 ${className}`}
        />
      )}
    </Field>
  )
}

export function PasswordInput({ label, hint, error, className = '', onChange, ...rest }: InputProps) {
  const [isShown, setShown] = useState(false)
  const t = useTexts()
  const { wrong, handlers } = useValidity()
  return (
    <Field label={label} hint={hint} error={error || wrong}>
      {(wiring) => (
        <div className="relative">
          <input
            {...wiring}
            {...handlers}
            autoComplete="current-password"
            required
            {...rest}
            onChange={(event) => onChange(event.target.value)}
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

export type ChoiceProps = Controlled<SelectHTMLAttributes<HTMLSelectElement>, string> & {
  choices: readonly { value: string; label: string }[]
}

export function Select({ label, hint, error, ...rest }: Pick<Described, 'label' | 'hint' | 'error'> & ChoiceProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(wiring) => <BareSelect {...wiring} {...rest} className={`${CONTROL} pr-10`} />}
    </Field>
  )
}

/** The browser's own select, which is best on phones. */
export function BareSelect({ choices, className = '', onChange, ...rest }: ChoiceProps) {
  return (
    <div className="relative">
      <select {...rest} onChange={(event) => onChange(event.target.value)} className={`appearance-none ${className}`}>
        {choices.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <ChevronDownIcon className="pointer-events-none absolute top-1/2 right-3 size-4 -translate-y-1/2 text-soft" />
    </div>
  )
}

type CheckboxProps = { label: ReactNode; hint?: ReactNode; value: boolean; onChange: (isChecked: boolean) => void }

export function Checkbox({ label, hint, value, onChange }: CheckboxProps) {
  const id = useId()
  return (
    <div className="flex gap-3">
      <input
        type="checkbox"
        id={id}
        aria-describedby={hint ? `${id}-hint` : undefined}
        checked={value}
        onChange={(event) => onChange(event.target.checked)}
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

/** The chosen values stay in the order of the list. */
export function CheckboxGroup<T extends string>(props: {
  legend: string
  options: readonly { value: T; label: ReactNode; hint: ReactNode }[]
  value: readonly T[]
  onChange: (value: T[]) => void
  error: string | false
}) {
  const { options, value: chosen } = props
  const toggle = (value: T, isChecked: boolean) =>
    options.map((option) => option.value).filter((other) => (other === value ? isChecked : chosen.includes(other)))
  return (
    <fieldset>
      <legend className="mb-2.5 text-sm font-semibold">{props.legend}</legend>
      <div className="space-y-3">
        {options.map(({ value, label, hint }) => (
          <Checkbox
            key={value}
            label={label}
            hint={hint}
            value={chosen.includes(value)}
            onChange={(isChecked) => props.onChange(toggle(value, isChecked))}
          />
        ))}
      </div>
      {props.error && (
        <p role="alert" className="mt-2 text-sm font-medium text-bad">
          {props.error}
        </p>
      )}
    </fieldset>
  )
}

/** The password can be shown instead of typed twice. That catches typos too, and works with password managers. */
export function NewPassword(props: Pick<InputProps, 'value' | 'onChange'> & { label?: string }) {
  const t = useTexts()
  return (
    <PasswordInput
      label={t.newPassword}
      hint={t.newPasswordHint}
      autoComplete="new-password"
      minLength={PASSWORD_MIN}
      maxLength={PASSWORD_MAX}
      {...props}
    />
  )
}
