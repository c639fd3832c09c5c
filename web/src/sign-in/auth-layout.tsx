import { Link, useRouter, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, type ReactNode } from 'react'
import { LANGUAGES, setLanguage, translations, useLanguage } from '../base/language.ts'
import { queryClient } from '../base/queries.ts'
import { homeOf, safeReturnPath, sessionQuery } from '../base/session.ts'
import { buttonClass } from '../ui/button.tsx'
import { focusField } from '../ui/form/focus.ts'
import { Input, type InputProps } from '../ui/form/form.tsx'
import { Logo } from '../ui/icons.tsx'
import { Notice } from '../ui/notice.tsx'
import { useTitle } from '../ui/page.tsx'
import { SandboxBanner } from '../ui/sandbox-banner.tsx'

const useTexts = translations({
  language: ['Idioma', 'Language'],
  back: ['Voltar ao login', 'Back to sign-in'],
  email: ['E-mail', 'Email'],
  openLink: [
    'No modo de teste nenhum e-mail é enviado. Abra o link aqui:',
    'No email is sent in test mode. Open the link here:',
  ],
  confirm: ['Confirmar e-mail', 'Confirm email'],
})

/** The frame of pages outside the shell: one card, and below it a link to another page. */
export function AuthLayout(props: { title: string; text?: ReactNode; below?: ReactNode; children?: ReactNode }) {
  const { title, text, below, children } = props
  useTitle(title)
  const place = useRef<HTMLElement>(null)
  const hasFocused = useRef(false)
  // Focuses once: a form may appear after its data, and a later render must not take the focus from the reader.
  useEffect(() => {
    hasFocused.current ||= focusField(place.current, { prefersEmpty: true })
  })
  return (
    <div className="flex min-h-dvh flex-col">
      <SandboxBanner />
      <main
        ref={place}
        className="mx-auto flex w-full max-w-md grow flex-col px-4 pt-10 pb-8 sm:justify-center sm:pt-8"
      >
        <div className="mb-6 flex items-center justify-center gap-3">
          <Logo className="size-9" />
          <span className="text-2xl font-semibold tracking-tight">guiche</span>
        </div>
        <div className="rounded-2xl border border-line bg-card px-5 py-6 shadow-card sm:px-8 sm:py-8">
          <h1 tabIndex={-1} className="text-xl leading-snug font-semibold tracking-tight outline-none">
            {title}
          </h1>
          {text && <p className="mt-1.5 text-soft">{text}</p>}
          {children && <div className="mt-6">{children}</div>}
        </div>
        {below && <div className="mt-5 text-center text-soft">{below}</div>}
      </main>
      <LanguageChoice />
    </div>
  )
}

function LanguageChoice() {
  const t = useTexts()
  const current = useLanguage()
  return (
    <footer aria-label={t.language} className="flex justify-center gap-1 pb-6 text-sm">
      {(['pt-BR', 'en'] as const).map((language) => (
        <button
          key={language}
          type="button"
          lang={language}
          aria-pressed={language === current}
          onClick={() => setLanguage(language)}
          className="min-h-9 rounded-lg px-3 text-soft hover:text-ink aria-pressed:font-semibold aria-pressed:text-ink"
        >
          {LANGUAGES[language]}
        </button>
      ))}
    </footer>
  )
}

export function BackToSignIn() {
  const t = useTexts()
  return (
    <Link to="/sign-in" className="link">
      {t.back}
    </Link>
  )
}

type EmailProps = Pick<InputProps, 'value' | 'onChange'> & {
  /** Says why the e-mail cannot be changed. */
  lockedBy?: string
}

export function EmailInput({ lockedBy, ...props }: EmailProps) {
  return (
    <Input
      label={useTexts().email}
      type="email"
      autoComplete="username"
      required
      {...(lockedBy && { readOnly: true, hint: lockedBy, className: 'bg-still-ground! text-soft!' })}
      {...props}
    />
  )
}

/** The link that would be mailed. The server returns it only in the sandbox without a mail server. */
export function ConfirmationLink({ link }: { link: string }) {
  const t = useTexts()
  return (
    <div className="grid gap-5">
      <Notice tone="mark">{t.openLink}</Notice>
      <a href={link} className={buttonClass({ kind: 'primary' })}>
        {t.confirm}
      </a>
    </div>
  )
}

/** Call it when the session is open. It goes to the page that asked for the sign-in, or to the home page. */
export function useAfterSignIn(): () => Promise<void> {
  const router = useRouter()
  const { to } = useSearch({ strict: false })
  return async () => {
    queryClient.clear()
    const { me } = await queryClient.fetchQuery(sessionQuery)
    router.history.push(safeReturnPath(to) ?? (me ? homeOf(me) : '/'))
  }
}
