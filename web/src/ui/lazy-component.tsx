import { useCallback, useEffect, useState, type ComponentType, type ReactNode } from 'react'
import { Failure } from './states.tsx'

const RELOADED = 'reloaded for a new build'

/**
 * A component that is loaded when it is first shown. Offline, the failure is shown in its place, with a button to
 * retry. Online, the files of an older build are gone, so the document is reloaded, once. Not Suspense: it delays
 * content by up to 300 ms.
 *
 *     const Dialog = lazyComponent(() => import('./dialog.tsx'), 'Dialog')
 */
export function lazyComponent<Module extends Components<Name>, Name extends string>(
  load: () => Promise<Module>,
  name: Name,
  meanwhile: ReactNode = null,
): Module[Name] & { preload: () => Promise<void> } {
  let Loaded: ComponentType<object> | undefined
  const fetchOnce = async () => {
    // It gets the props of LazyComponent, which has the type of the component itself.
    Loaded ??= (await load())[name] as unknown as ComponentType<object>
    sessionStorage.removeItem(RELOADED)
  }

  function LazyComponent(props: object) {
    const [, setReady] = useState(false)
    const [failure, setFailure] = useState<unknown>()
    const attempt = useCallback(
      () =>
        void fetchOnce().then(
          () => setReady(true),
          (error: unknown) => void (reloadOnce() || setFailure(error)),
        ),
      [],
    )
    useEffect(attempt, [attempt])
    if (Loaded) return <Loaded {...props} />
    return failure === undefined ? meanwhile : <Failure error={failure} onRetry={attempt} />
  }
  // The router waits for it, and must go on to the component that shows the failure.
  const preload = () => fetchOnce().catch(() => undefined)
  return Object.assign(LazyComponent as unknown as Module[Name], { preload })
}

type Components<Name extends string> = { readonly [N in Name]: (props: never) => ReactNode }

function reloadOnce(): boolean {
  if (!navigator.onLine || sessionStorage.getItem(RELOADED) !== null) return false
  sessionStorage.setItem(RELOADED, 'yes')
  location.reload()
  return true
}
