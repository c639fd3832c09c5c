import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ButtonHTMLAttributes, ComponentProps, ReactNode } from 'react'
import type { Icon } from './icons.tsx'
import { useOpenedByUrl } from './opened-by-url.ts'
import { toast } from './toast.tsx'

type Look = { kind?: keyof typeof KINDS; size?: 'small' | 'normal' }
type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement>

const SHAPE =
  'inline-flex items-center justify-center gap-2 rounded-lg border font-semibold whitespace-nowrap transition-colors select-none disabled:opacity-55'
const SIZES = { small: 'min-h-9 px-3 text-sm', normal: 'min-h-11 px-4' }
const KINDS = {
  primary:
    'border-accent bg-accent text-on-accent not-disabled:hover:border-accent-strong not-disabled:hover:bg-accent-strong',
  secondary: 'border-line bg-card text-ink shadow-card not-disabled:hover:bg-hover',
  quiet: 'border-transparent text-ink not-disabled:hover:bg-hover',
  danger: 'border-bad bg-bad text-on-bad not-disabled:hover:border-bad-strong not-disabled:hover:bg-bad-strong',
}

/** While `isBusy` it is disabled, keeps its width and tells screen readers that it is working. */
export function Button(props: ButtonProps & Look & { isBusy?: boolean; icon?: Icon }) {
  const {
    kind = 'secondary',
    size = 'normal',
    isBusy = false,
    icon: ButtonIcon,
    className = '',
    children,
    ...rest
  } = props
  return (
    <button
      type="button"
      {...rest}
      disabled={rest.disabled || isBusy}
      aria-busy={isBusy || undefined}
      className={`relative ${buttonClass({ kind, size })} ${className}`}
    >
      <span className={`inline-flex items-center gap-2 ${isBusy ? 'opacity-0' : ''}`}>
        {ButtonIcon && <ButtonIcon className="size-4" />}
        {children}
      </span>
      {isBusy && <Spinner className="absolute size-5" />}
    </button>
  )
}

/** A link within the dashboard that looks like a button. */
export function ButtonLink({
  to,
  search = {},
  children,
  ...look
}: Look & { to: string; search?: Record<string, string>; children: ReactNode }) {
  return (
    <Link to={to} search={search} className={buttonClass(look)}>
      {children}
    </Link>
  )
}

/** The classes alone, for a plain `<a>`. */
export function buttonClass({ kind = 'secondary', size = 'normal' }: Look): string {
  return `${SHAPE} ${SIZES[size]} ${KINDS[kind]}`
}

/** A button with only an icon; `label` says what it does. */
export function IconButton({ label, className = '', ...rest }: ButtonProps & { label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={`inline-flex size-9 items-center justify-center rounded-lg text-soft transition-colors hover:bg-hover hover:text-ink ${className}`}
    />
  )
}

export function Spinner({ className = 'size-5' }: { className?: string }) {
  return (
    <svg viewBox="0 0 24 24" aria-hidden="true" className={`animate-spin ${className}`}>
      <circle cx="12" cy="12" r="9" fill="none" stroke="currentColor" strokeWidth="3" opacity="0.25" />
      <path d="M12 3a9 9 0 0 1 9 9" fill="none" stroke="currentColor" strokeWidth="3" strokeLinecap="round" />
    </svg>
  )
}

type AskingProps = Omit<ComponentProps<typeof Button>, 'onClick' | 'isBusy'>

/** Asks the server for something. It is busy meanwhile, and shows a refusal as a toast. */
export function ActionButton({ onAction, ...rest }: AskingProps & { onAction: () => Promise<unknown> }) {
  const action = useMutation({ mutationFn: onAction, onError: toast.bad })
  return <Button {...rest} isBusy={action.isPending} onClick={() => action.mutate()} />
}

/** Opens a dialog, which is mounted while it is open. With an `opensBy`, the query string opens it too. */
export function DialogButton({
  dialog,
  opensBy,
  ...rest
}: AskingProps & { opensBy?: string | undefined; dialog: (onClose: () => void) => ReactNode }) {
  const [isOpen, setOpen] = useOpenedByUrl(rest.disabled ? undefined : opensBy)
  return (
    <>
      <Button {...rest} onClick={() => setOpen(true)} />
      {isOpen && dialog(() => setOpen(false))}
    </>
  )
}
