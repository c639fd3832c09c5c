import { useCallback, useEffect, useState, type ComponentType, type ReactNode } from 'react'
import { Failure } from './table.tsx'

type Pages<Name extends string> = Record<Name, ComponentType>

const RELOADED = 'reloaded for a new build'

/**
 * A page that is loaded when it is first shown. Without a network the failure is shown in the page's place, with the navigation around it, and can be tried
 * again. With one, the files of an older build are gone: the document is loaded anew, once.
 */
export function lazyPage<Name extends string>(
  load: () => Promise<Pages<Name>>,
  name: Name,
): (() => ReactNode) & Preload {
  let Loaded: ComponentType | undefined
  const preload = async () => {
    Loaded ??= (await load())[name]
    sessionStorage.removeItem(RELOADED)
  }

  function LazyPage() {
    const [, setReady] = useState(Loaded !== undefined)
    const [failure, setFailure] = useState<unknown>()
    const attempt = useCallback(
      () =>
        void preload().then(
          () => setReady(true),
          (error: unknown) => void (reloadOnce() || setFailure(error)),
        ),
      [],
    )
    useEffect(attempt, [attempt])
    if (Loaded) return <Loaded />
    return failure === undefined ? null : <Failure error={failure} onRetry={attempt} />
  }
  // The router waits for it, and must go on to the page that tells of the failure.
  return Object.assign(LazyPage, { preload: () => preload().catch(() => undefined) })
}

type Preload = { preload: () => Promise<void> }

function reloadOnce(): boolean {
  if (!navigator.onLine || sessionStorage.getItem(RELOADED) !== null) return false
  sessionStorage.setItem(RELOADED, 'yes')
  location.reload()
  return true
}
