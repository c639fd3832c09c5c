import { makeStore, remember, remembered } from './store.ts'

// index.html reads this entry too, to set the theme before the first paint.
const NAME = 'guiche.theme'
const system = matchMedia('(prefers-color-scheme: dark)')
const theme = makeStore(remembered(NAME) ?? 'system')
const isDark = makeStore(false)
system.addEventListener('change', apply)
apply()

export function useTheme(): string {
  return theme.use()
}

/** True if the page is dark now. Charts need to know this. */
export function useIsDark(): boolean {
  return isDark.use()
}

export function setTheme(chosen: string): void {
  theme.set(chosen)
  remember(NAME, chosen)
  apply()
}

function apply(): void {
  isDark.set(theme.get() === 'dark' || (theme.get() !== 'light' && system.matches))
  document.documentElement.dataset['theme'] = isDark.get() ? 'dark' : 'light'
}
