import { useSyncExternalStore } from 'react'

export type Theme = 'light' | 'dark' | 'system'

// index.html reads it too, to set the theme before the first paint.
const REMEMBERED = 'guiche.theme'
const listeners = new Set<() => void>()
const system = matchMedia('(prefers-color-scheme: dark)')
let theme = remembered()
system.addEventListener('change', apply)

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, () => theme)
}

/** What is on the screen now, for charts. */
export function useIsDark(): boolean {
  return useSyncExternalStore(subscribe, isDark)
}

export function setTheme(chosen: Theme): void {
  theme = chosen
  try {
    localStorage.setItem(REMEMBERED, chosen)
  } catch {
    // Storage is blocked: the choice lasts as long as the page.
  }
  apply()
}

function apply(): void {
  document.documentElement.dataset['theme'] = isDark() ? 'dark' : 'light'
  for (const listener of listeners) listener()
}

function isDark(): boolean {
  return theme === 'dark' || (theme === 'system' && system.matches)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function remembered(): Theme {
  try {
    const text = localStorage.getItem(REMEMBERED)
    return text === 'light' || text === 'dark' ? text : 'system'
  } catch {
    return 'system'
  }
}
