import { useQuery } from '@tanstack/react-query'
import { useState, type ComponentProps } from 'react'
import { auth } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { DialogButton } from '../../ui/button.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Card, Failure, Skeleton } from '../../ui/page.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { ConfirmDialog } from '../../ui/form/form-dialog.tsx'
import { CurrentCode } from './current-code.tsx'

const useTexts = translations({
  title: ['Sessões', 'Sessions'],
  text: ['Onde sua conta está conectada.', 'Where your account is signed in.'],
  here: ['Esta sessão', 'This session'],
  unknown: ['Navegador desconhecido', 'Unknown browser'],
  since: ['desde', 'since'],
  one: {
    action: ['Encerrar', 'Sign out'],
    title: ['Encerrar esta sessão?', 'Sign out of this session?'],
    done: ['Sessão encerrada.', 'Session ended.'],
  },
  others: {
    action: ['Encerrar todas as outras', 'Sign out everywhere else'],
    title: ['Encerrar todas as outras sessões?', 'Sign out everywhere else?'],
    text: ['Só este navegador continua conectado.', 'Only this browser stays signed in.'],
    done: ['As outras sessões foram encerradas.', 'Signed out everywhere else.'],
  },
  on: (browser: string, system: string) => [`${browser} em ${system}`, `${browser} on ${system}`],
})

type Session = {
  token: string
  createdAt: string
  ipAddress?: string | null
  userAgent?: string | null
  isCurrent?: boolean
}

export function Sessions() {
  const t = useTexts()
  const sessions = useQuery({ queryKey: ['sessions'], queryFn: () => auth.get<Session[]>('list-sessions') })
  const hasOthers = sessions.data?.some((session) => !session.isCurrent) ?? false
  return (
    <Card
      title={t.title}
      text={t.text}
      actions={
        hasOthers && (
          <DialogButton
            size="small"
            dialog={(onClose) => <EndDialog {...t.others} path="revoke-other-sessions" onClose={onClose} />}
          >
            {t.others.action}
          </DialogButton>
        )
      }
    >
      {sessions.error && <Failure error={sessions.error} onRetry={() => void sessions.refetch()} />}
      {sessions.isPending && <Skeleton className="h-12 w-full" />}
      <ul className="divide-y divide-line">
        {sessions.data
          ?.toSorted(
            (a, b) =>
              Number(b.isCurrent ?? false) - Number(a.isCurrent ?? false) || b.createdAt.localeCompare(a.createdAt),
          )
          .map((session) => (
            <SessionRow key={session.token} session={session} />
          ))}
      </ul>
    </Card>
  )
}

type EndProps = Omit<ComponentProps<typeof ConfirmDialog>, 'onSend'> & { path: string; body?: object }

function EndDialog({ path, body, ...props }: EndProps) {
  const [code, setCode] = useState('')
  return (
    <ConfirmDialog {...props} isDanger onSend={() => auth.post(path, { ...body, code })} refreshes={[['sessions']]}>
      <CurrentCode value={code} onChange={setCode} />
    </ConfirmDialog>
  )
}

function SessionRow({ session }: { session: Session }) {
  const t = useTexts()
  const { browser, system } = nameOf(session.userAgent ?? '')
  const named = browser && system ? t.on(browser, system) : (browser ?? system ?? t.unknown)
  const end = { text: named, path: 'revoke-session', body: { token: session.token } }
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 py-3 first:pt-0 last:pb-0">
      <div className="min-w-0">
        <p className="font-medium" title={session.userAgent ?? ''}>
          {named}
        </p>
        <p className="text-sm text-soft">
          {session.ipAddress && <>{session.ipAddress}, </>}
          {t.since} <DateTime at={session.createdAt} />
        </p>
      </div>
      {session.isCurrent ? (
        <Badge tone="good">{t.here}</Badge>
      ) : (
        <DialogButton size="small" dialog={(onClose) => <EndDialog {...t.one} {...end} onClose={onClose} />}>
          {t.one.action}
        </DialogButton>
      )}
    </li>
  )
}

// The first match counts: Edge and Opera also call themselves Chrome, and Chrome calls itself Safari.
const BROWSERS = [
  ['Edge', /Edg\w*\//],
  ['Opera', /OPR\//],
  ['Firefox', /Firefox\/|FxiOS/],
  ['Chrome', /Chrome\/|CriOS/],
  ['Safari', /Safari\//],
] as const
const SYSTEMS = [
  ['Android', /Android/],
  ['iOS', /iPhone|iPad/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X/],
  ['Linux', /Linux/],
] as const

function nameOf(userAgent: string): { browser: string | undefined; system: string | undefined } {
  return {
    browser: BROWSERS.find(([, pattern]) => pattern.test(userAgent))?.[0],
    system: SYSTEMS.find(([, pattern]) => pattern.test(userAgent))?.[0],
  }
}
