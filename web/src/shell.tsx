import { Link, Outlet } from '@tanstack/react-router'
import { useEffect, useState, type ReactNode } from 'react'
import { Bell } from './account/notices/bell.tsx'
import { useHasNotices } from './account/notices/notices.ts'
import { useLostSince } from './base/connection.ts'
import { useFormat } from './base/format.ts'
import { followHistory } from './base/history.ts'
import * as icons from './ui/icons.tsx'
import { translations, usePair } from './base/language.ts'
import type { Pair } from './base/pair.ts'
import type { Me } from './contract/types.ts'
import { hasAny, mayOpen, signOut, switchAccount, useMe } from './base/session.ts'
import { useRoleNames } from './base/roles.ts'
import { FrameDialogs, SearchButton, SearchIconButton } from './search/search-button.tsx'
import { Select } from './ui/form/form.tsx'
import { lazyComponent } from './ui/lazy-component.tsx'
import { OpenCount, useOpenNames } from './ui/open-count.tsx'
import { SandboxBanner } from './ui/sandbox-banner.tsx'
import { toast } from './ui/toast.tsx'

const useTexts = translations({
  skip: ['Ir para o conteúdo', 'Skip to content'],
  navigation: ['Navegação', 'Navigation'],
  more: ['Mais', 'More'],
  suspended: ['Esta conta está suspensa', 'This account is suspended'],
  secondFactor: [
    'Esta conta exige a verificação em duas etapas. Ative-a para continuar.',
    'This account requires two-step verification. Turn it on to continue.',
  ],
  setUp: ['Ativar agora', 'Turn it on now'],
  operator: ['Operação', 'Operations'],
  signOut: ['Sair', 'Sign out'],
  account: ['Conta', 'Account'],
  lost: (time: string) => [`Sem conexão, dados de ${time}`, `No connection, data from ${time}`],
})

// It loads when opened, because most first pages need no dialog.
const Dialog = lazyComponent(() => import('./ui/form/dialog.tsx'), 'Dialog')

/** A link of the navigation: the path of a page, and who sees it. */
export type NavEntry = {
  to: string
  branch: string
  icon: icons.Icon
  label: Pair
  short: string | undefined
  scopes: readonly Me['scopes'][number][]
}
type Item = Omit<NavEntry, 'label'> & { label: string; pair: Pair }

/** On phones the first ones are at the bottom of the screen, the others behind "More". */
const AT_BOTTOM = 4

export function Shell({ navigation }: { navigation: readonly NavEntry[] }) {
  const t = useTexts()
  const me = useMe()
  const inLanguage = usePair()
  useEffect(followHistory, [])
  const items = navigation
    .filter(({ branch }) => branch === me.kind || branch === 'inside')
    .filter(({ scopes, to }) => hasAny(me, scopes) && mayOpen(me, to))
    .map((entry) => ({ ...entry, label: inLanguage(entry.label), pair: entry.label }))
  return (
    <div className="min-h-dvh md:grid md:grid-cols-[15rem_minmax(0,1fr)] print:block">
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
        <header className="flex h-14 items-center gap-2.5 border-b border-line bg-card px-4 md:hidden print:hidden">
          <Brand isOperator={me.kind === 'operator'} />
          <span className="ml-auto flex">
            {mayOpen(me, '/deposits') && <SearchIconButton />}
            {useHasNotices() && <Bell />}
          </span>
        </header>
        <main
          id="content"
          tabIndex={-1}
          className="grow px-4 pt-6 pb-28 outline-none sm:px-6 md:px-8 md:pt-8 md:pb-16 print:px-0 print:py-4"
        >
          {me.mustSetUpSecondFactor && (
            <p className="mx-auto mb-6 max-w-6xl rounded-lg bg-wait-ground px-4 py-3 text-wait">
              {t.secondFactor}{' '}
              <Link to="/settings" className="font-semibold underline">
                {t.setUp}
              </Link>
            </p>
          )}
          {me.suspendedReason !== null && (
            <div className="mx-auto mb-6 max-w-6xl rounded-lg bg-bad-ground px-4 py-3 text-bad">
              <b>{t.suspended}:</b> {me.suspendedReason}
            </div>
          )}
          <Outlet />
        </main>
      </div>
      <BottomBar items={items} />
      {/* What is found, and what keys open, would lead those of the counter back to it. */}
      {mayOpen(me, '/deposits') && (
        <FrameDialogs pages={items.map(({ to, pair, icon }) => ({ name: to, label: pair, icon, act: { to } }))} />
      )}
    </div>
  )
}

/** Says how old the page is, because it keeps what it has while the server is out of reach. */
function ConnectionBar() {
  const t = useTexts()
  const { time } = useFormat()
  const lostSince = useLostSince()
  return (
    <div role="status" className="sticky top-0 z-30">
      {lostSince !== undefined && (
        <p className="figures flex items-center justify-center gap-2 bg-wait-ground px-4 py-1.5 text-sm font-semibold text-wait">
          <icons.WarningIcon className="size-4" />
          {t.lost(time(new Date(lostSince).toISOString()))}
        </p>
      )}
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
    <aside className="hidden border-r border-line bg-card md:block print:hidden">
      <div className="sticky top-0 flex h-dvh flex-col">
        <div className="flex h-16 items-center gap-2.5 pr-3 pl-5">
          <Brand isOperator={me.kind === 'operator'} />
        </div>
        <div className="mb-1 flex items-center gap-1 px-3">
          {mayOpen(me, '/deposits') && <SearchButton />}
          {useHasNotices() && <Bell />}
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
  const roleNames = useRoleNames()
  return (
    <div className="min-w-0 space-y-3 px-3 py-2">
      <AccountSwitch />
      <div>
        <p className="truncate font-medium">{me.name}</p>
        <p className="truncate text-sm text-soft" title={me.email}>
          {me.email}
        </p>
        {me.role !== null && me.role !== 'owner' && <p className="text-sm text-soft">{roleNames[me.role]}</p>}
      </div>
    </div>
  )
}

/** For people who act for more than one account. */
function AccountSwitch() {
  const t = useTexts()
  const { accounts, accountId } = useMe()
  if (accounts.length < 2 || accountId === null) return null
  return (
    <Select
      label={t.account}
      value={accountId}
      onChange={(chosen) => void switchAccount(chosen).catch(toast.bad)}
      choices={accounts.map((account) => ({ value: account.accountId, label: account.name }))}
    />
  )
}

const ENTRY =
  'flex min-h-10 w-full items-center gap-3 rounded-lg px-3 font-medium text-soft hover:bg-hover hover:text-ink'

function NavLink({ item, onClick }: { item: Item; onClick?: () => void }) {
  const openName = useOpenNames()
  return (
    <Link
      to={item.to}
      aria-label={openName(item.label, [item.to])}
      activeOptions={{ exact: item.to === '/' || item.to === '/operator', includeSearch: false }}
      className={ENTRY}
      activeProps={{ className: 'bg-good-ground! text-good!' }}
      {...(onClick && { onClick })}
    >
      <item.icon />
      <span>{item.label}</span>
      <OpenCount to={[item.to]} className="ml-auto" />
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
  'relative flex min-w-0 flex-1 flex-col items-center justify-center gap-0.5 px-1 text-xs font-medium text-soft -outline-offset-2'
const ON_TAB = 'absolute top-1 left-1/2 ml-1'

function BottomBar({ items }: { items: readonly Item[] }) {
  const t = useTexts()
  const openName = useOpenNames()
  const [isOpen, setOpen] = useState(false)
  const others = items.slice(AT_BOTTOM).map(({ to }) => to)
  return (
    <nav
      aria-label={t.navigation}
      className="fixed inset-x-0 bottom-0 z-30 flex h-[calc(4rem+env(safe-area-inset-bottom))] border-t border-line bg-card pb-[env(safe-area-inset-bottom)] md:hidden print:hidden"
    >
      {items.slice(0, AT_BOTTOM).map((item) => (
        <Link
          key={item.to}
          to={item.to}
          aria-label={openName(item.short ?? item.label, [item.to])}
          activeOptions={{ exact: item.to === '/' || item.to === '/operator', includeSearch: false }}
          className={TAB}
          activeProps={{ className: 'text-accent!' }}
        >
          <item.icon className="size-6" />
          <Cut>{item.short ?? item.label}</Cut>
          <OpenCount to={[item.to]} className={ON_TAB} />
        </Link>
      ))}
      <button
        type="button"
        aria-haspopup="dialog"
        aria-label={openName(t.more, others)}
        onClick={() => setOpen(true)}
        className={TAB}
      >
        <icons.MenuIcon className="size-6" />
        <Cut>{t.more}</Cut>
        <OpenCount to={others} className={ON_TAB} />
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
