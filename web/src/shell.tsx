import { Link, Outlet } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { ConnectionBar } from './ui/connection-bar.tsx'
import * as icons from './ui/icons.tsx'
import { translations } from './base/language.ts'
import { signOut, useMe } from './base/session.ts'
import { lazyDialog } from './ui/lazy-component.tsx'
import { SandboxBanner } from './ui/sandbox-banner.tsx'

const useTexts = translations({
  skip: ['Ir para o conteúdo', 'Skip to content'],
  navigation: ['Navegação', 'Navigation'],
  more: ['Mais', 'More'],
  suspended: ['Esta conta está suspensa', 'This account is suspended'],
  operator: ['Operação', 'Operations'],
  signOut: ['Sair', 'Sign out'],
  overview: ['Visão geral', 'Overview'],
  deposits: ['Depósitos', 'Deposits'],
  statement: ['Extrato', 'Statement'],
  developers: ['API e webhooks', 'API and webhooks'],
  developersShort: ['API', 'API'],
  guide: ['Documentação', 'Docs'],
  settings: ['Configurações', 'Settings'],
  accounts: ['Contas', 'Accounts'],
  exceptions: ['Exceções', 'Exceptions'],
  reconciliation: ['Conciliação', 'Reconciliation'],
  providers: ['Provedores', 'Providers'],
  webhooks: ['Webhooks', 'Webhooks'],
  auditLog: ['Auditoria', 'Audit log'],
})

// Loaded when opened: most first pages need no dialog.
const Dialog = lazyDialog(() => import('./ui/form/dialog.tsx'), 'Dialog')

type Item = { to: string; label: string; short?: string; icon: typeof icons.OverviewIcon }

/** On phones the first ones are at the bottom of the screen, the others behind "More". */
const AT_BOTTOM = 4

function useItems(kind: 'account' | 'operator'): Item[] {
  const t = useTexts()
  if (kind === 'account')
    return [
      { to: '/', label: t.overview, icon: icons.OverviewIcon },
      { to: '/deposits', label: t.deposits, icon: icons.DepositIcon },
      { to: '/statement', label: t.statement, icon: icons.StatementIcon },
      { to: '/developers', label: t.developers, short: t.developersShort, icon: icons.CodeIcon },
      { to: '/guide', label: t.guide, icon: icons.BookIcon },
      { to: '/settings', label: t.settings, icon: icons.SettingsIcon },
    ]
  return [
    { to: '/operator', label: t.overview, icon: icons.OverviewIcon },
    { to: '/operator/accounts', label: t.accounts, icon: icons.PeopleIcon },
    { to: '/operator/exceptions', label: t.exceptions, icon: icons.WarningIcon },
    { to: '/operator/reconciliation', label: t.reconciliation, icon: icons.ScalesIcon },
    { to: '/operator/providers', label: t.providers, icon: icons.BankIcon },
    { to: '/operator/webhooks', label: t.webhooks, icon: icons.WebhookIcon },
    { to: '/operator/audit-log', label: t.auditLog, icon: icons.LogIcon },
    { to: '/guide', label: t.guide, icon: icons.BookIcon },
    { to: '/settings', label: t.settings, icon: icons.SettingsIcon },
  ]
}

/** The frame of every page behind the sign-in. */
export function Shell() {
  const t = useTexts()
  const me = useMe()
  const items = useItems(me.kind)
  return (
    <div className="min-h-dvh md:grid md:grid-cols-[15rem_minmax(0,1fr)]">
      <a
        href="#content"
        className="sr-only z-50 rounded-lg bg-accent px-4 py-2 font-semibold text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        {t.skip}
      </a>
      <Sidebar items={items} />
      <div className="flex min-w-0 flex-col">
        <SandboxBanner />
        <ConnectionBar />
        <header className="flex h-14 items-center gap-2.5 border-b border-line bg-card px-4 md:hidden">
          <Brand isOperator={me.kind === 'operator'} />
        </header>
        <main id="content" tabIndex={-1} className="grow px-4 pt-6 pb-28 outline-none sm:px-6 md:px-8 md:pt-8 md:pb-16">
          {me.suspendedReason !== null && (
            <div className="mx-auto mb-6 max-w-6xl rounded-lg bg-bad-ground px-4 py-3 text-bad">
              <b>{t.suspended}:</b> {me.suspendedReason}
            </div>
          )}
          <Outlet />
        </main>
      </div>
      <BottomBar items={items} />
    </div>
  )
}

function Brand({ isOperator }: { isOperator: boolean }) {
  const t = useTexts()
  return (
    <>
      <icons.Logo className="size-7" />
      <span className="text-lg font-semibold tracking-tight">guiche</span>
      {isOperator && (
        <span className="rounded-md bg-still-ground px-2 py-0.5 text-xs font-semibold text-still">{t.operator}</span>
      )}
    </>
  )
}

function Sidebar({ items }: { items: readonly Item[] }) {
  const t = useTexts()
  const me = useMe()
  return (
    <aside className="hidden border-r border-line bg-card md:block">
      <div className="sticky top-0 flex h-dvh flex-col">
        <div className="flex h-16 items-center gap-2.5 px-5">
          <Brand isOperator={me.kind === 'operator'} />
        </div>
        <nav aria-label={t.navigation} className="grow space-y-0.5 overflow-y-auto px-3 py-2">
          {items.map((item) => (
            <NavLink key={item.to} item={item} />
          ))}
        </nav>
        <div className="border-t border-line p-3">
          <Person />
          <SignOut />
        </div>
      </div>
    </aside>
  )
}

function Person() {
  const me = useMe()
  return (
    <div className="min-w-0 px-3 py-2">
      <p className="truncate font-medium">{me.name}</p>
      <p className="truncate text-sm text-soft" title={me.email}>
        {me.email}
      </p>
    </div>
  )
}

const ENTRY =
  'flex min-h-10 w-full items-center gap-3 rounded-lg px-3 font-medium text-soft hover:bg-hover hover:text-ink'

function NavLink({ item, onClick }: { item: Item; onClick?: () => void }) {
  return (
    <Link
      to={item.to}
      activeOptions={{ exact: item.to === '/' || item.to === '/operator', includeSearch: false }}
      className={ENTRY}
      activeProps={{ className: 'bg-good-ground! text-good!' }}
      {...(onClick && { onClick })}
    >
      <item.icon />
      {item.label}
    </Link>
  )
}

function SignOut() {
  const t = useTexts()
  return (
    <button type="button" onClick={() => void signOut()} className={ENTRY}>
      <icons.SignOutIcon />
      {t.signOut}
    </button>
  )
}

const TAB =
  'flex min-w-0 flex-1 flex-col items-center justify-center gap-0.5 px-1 text-xs font-medium text-soft -outline-offset-2'

function BottomBar({ items }: { items: readonly Item[] }) {
  const t = useTexts()
  const [isOpen, setOpen] = useState(false)
  return (
    <nav
      aria-label={t.navigation}
      className="fixed inset-x-0 bottom-0 z-30 flex h-[calc(4rem+env(safe-area-inset-bottom))] border-t border-line bg-card pb-[env(safe-area-inset-bottom)] md:hidden"
    >
      {items.slice(0, AT_BOTTOM).map((item) => (
        <Link
          key={item.to}
          to={item.to}
          activeOptions={{ exact: item.to === '/' || item.to === '/operator', includeSearch: false }}
          className={TAB}
          activeProps={{ className: 'text-accent!' }}
        >
          <item.icon className="size-6" />
          <Cut>{item.short ?? item.label}</Cut>
        </Link>
      ))}
      <button type="button" aria-haspopup="dialog" onClick={() => setOpen(true)} className={TAB}>
        <icons.MenuIcon className="size-6" />
        <Cut>{t.more}</Cut>
      </button>
      {isOpen && (
        <Dialog onClose={() => setOpen(false)} title={t.more}>
          <div className="-mx-3 space-y-0.5">
            {items.slice(AT_BOTTOM).map((item) => (
              <NavLink key={item.to} item={item} onClick={() => setOpen(false)} />
            ))}
            <hr className="my-2 border-line" />
            <Person />
            <SignOut />
          </div>
        </Dialog>
      )}
    </nav>
  )
}

function Cut({ children }: { children: ReactNode }) {
  return <span className="max-w-full truncate">{children}</span>
}
