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
    subscribe,
    use: () => useSyncExternalStore(subscribe, () => value),
  }
}

/** Reads a choice that this browser remembers. */
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
    // The choice lasts as long as the page.
  }
}
