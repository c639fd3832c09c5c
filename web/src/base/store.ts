import { useSyncExternalStore } from 'react'

/** A value outside of React; `use` follows it in a component. */
export function makeStore<T>(value: T) {
  const listeners = new Set<() => void>()
  const subscribe = (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  return {
    get: () => value,
    set: (next: T) => {
      value = next
      for (const listener of listeners) listener()
    },
    use: () => useSyncExternalStore(subscribe, () => value),
  }
}

/** A choice of this browser. If its storage is blocked, a choice lasts as long as the page. */
export function remembered(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

export function remember(name: string, choice: string): void {
  try {
    localStorage.setItem(name, choice)
  } catch {
    // See above.
  }
}
