import { Link } from '@tanstack/react-router'
import { useEffect, useRef, type ReactNode, type RefObject } from 'react'
import { translations } from '../../base/language.ts'
import { homeOf, signOut, switchAccount, useMe } from '../../base/session.ts'
import * as icons from '../../ui/icons.tsx'
import { toast } from '../../ui/toast.tsx'
import { setMuted, useMuted } from './attention.ts'
import { useShopName } from './shop-name.ts'
import type { Till } from './till.ts'

const useTexts = translations({
  takings: ['Movimento', 'Takings'],
  back: ['Voltar', 'Back'],
  mute: ['Desligar o som', 'Turn sound off'],
  unmute: ['Ligar o som', 'Turn sound on'],
  menu: ['Menu', 'Menu'],
  till: (id: string) => [`Caixa ${id}`, `Till ${id}`],
  dashboard: ['Ir para o painel', 'Go to the dashboard'],
  settings: ['Configurações', 'Settings'],
  switchTo: (name: string) => [`Mudar para ${name}`, `Switch to ${name}`],
  signOut: ['Sair', 'Sign out'],
})

const ICON =
  'inline-flex size-11 shrink-0 items-center justify-center rounded-lg text-soft hover:bg-hover hover:text-ink'

export function CounterHeader(props: { till: Till; isCounting: boolean; onTurn: () => void }) {
  const t = useTexts()
  const isMuted = useMuted()
  const name = useShopName()
  const mute = isMuted ? t.unmute : t.mute
  return (
    <header className="flex h-14 items-center gap-1 border-b border-line bg-card px-2">
      <icons.Logo className="mx-1 size-7" />
      <span className="min-w-0 grow truncate font-semibold">{name}</span>
      <button
        type="button"
        onClick={props.onTurn}
        className="inline-flex min-h-11 shrink-0 items-center rounded-lg px-3 font-semibold text-accent hover:bg-hover"
      >
        {props.isCounting ? t.back : t.takings}
      </button>
      <button type="button" aria-label={mute} title={mute} onClick={() => setMuted(!isMuted)} className={ICON}>
        {isMuted ? <icons.MutedIcon /> : <icons.SoundIcon />}
      </button>
      <Menu till={props.till} />
    </header>
  )
}

const ENTRY = 'flex min-h-11 w-full items-center gap-3 rounded-lg px-3 text-left font-medium hover:bg-hover'

function Menu({ till }: { till: Till }) {
  const t = useTexts()
  const me = useMe()
  const menu = useRef<HTMLDetailsElement>(null)
  useEffect(() => closeFromOutside(menu), [])
  const others = me.accounts.filter(({ accountId }) => accountId !== me.accountId)
  return (
    <details ref={menu} className="relative">
      <summary aria-label={t.menu} title={t.menu} className={`${ICON} list-none [&::-webkit-details-marker]:hidden`}>
        <icons.MenuIcon />
      </summary>
      <div className="absolute right-0 z-40 mt-1 w-72 max-w-[calc(100vw-1rem)] rounded-xl border border-line bg-raised p-2 shadow-float">
        <p className="truncate px-3 pt-1 font-medium">{me.name}</p>
        <p className="px-3 pb-2 text-sm text-soft">{t.till(till.id)}</p>
        {homeOf(me) !== '/counter' && <MenuLink to={homeOf(me)} icon={icons.OverviewIcon} label={t.dashboard} />}
        <MenuLink to="/settings" icon={icons.SettingsIcon} label={t.settings} />
        {others.map(({ accountId, name }) => (
          <MenuButton
            key={accountId}
            icon={icons.ShopIcon}
            onClick={() => void switchAccount(accountId).catch(toast.bad)}
          >
            {t.switchTo(name)}
          </MenuButton>
        ))}
        <MenuButton icon={icons.SignOutIcon} onClick={() => void signOut()}>
          {t.signOut}
        </MenuButton>
      </div>
    </details>
  )
}

/** Returns what ends it. */
function closeFromOutside({ current: menu }: RefObject<HTMLDetailsElement | null>): () => void {
  const ended = new AbortController()
  const close = (event: Event) => {
    const isInside = event.target instanceof Node && menu?.contains(event.target)
    if (menu && (event instanceof KeyboardEvent ? event.key === 'Escape' : !isInside)) menu.open = false
  }
  for (const kind of ['pointerdown', 'focusin', 'keydown']) addEventListener(kind, close, ended)
  return () => ended.abort()
}

function MenuLink({ to, icon: EntryIcon, label }: { to: string; icon: icons.Icon; label: string }) {
  return (
    <Link to={to} className={ENTRY}>
      <EntryIcon className="size-5 text-soft" />
      {label}
    </Link>
  )
}

function MenuButton(props: { icon: icons.Icon; onClick: () => void; children: ReactNode }) {
  const { icon: EntryIcon, onClick, children } = props
  return (
    <button type="button" onClick={onClick} className={ENTRY}>
      <EntryIcon className="size-5 text-soft" />
      <span className="min-w-0 wrap-anywhere">{children}</span>
    </button>
  )
}
