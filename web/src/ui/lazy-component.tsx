import { useCallback, useEffect, useRef, useState, type ComponentType, type ReactNode } from 'react'
import { ApiError, get } from '../base/api.ts'
import { whenBack } from '../base/connection.ts'
import { translations } from '../base/language.ts'
import { Button } from './button.tsx'
import { Failure } from './page.tsx'

const useTexts = translations({
  failed: ['Falha ao abrir', 'Opening failed'],
  close: ['Fechar', 'Close'],
})

const RELOADED = 'reloaded for a new build'

/**
 * A component that is loaded when it is first shown. While the server is out of reach the failure is shown in its
 * place, with a button to retry, and it is retried once the server can be reached again. It does not use Suspense,
 * which delays content by up to 300 ms.
 *
 *     const Page = lazyComponent(() => import('./page.tsx'), 'Page')
 */
export function lazyComponent<Module extends Components<Name>, Name extends string>(
  load: () => Promise<Module>,
  name: Name,
  meanwhile: ReactNode = null,
): Module[Name] & { preload: () => Promise<void> } {
  let Loaded: ComponentType<Props> | undefined
  const fetchOnce = async () => {
    // It gets the props of LazyComponent, which has the type of the component itself.
    Loaded ??= (await load())[name] as unknown as ComponentType<Props>
    sessionStorage.removeItem(RELOADED)
  }

  function LazyComponent(props: Props) {
    const [, setReady] = useState(false)
    const [failure, setFailure] = useState<unknown>()
    const attempt = useCallback(() => {
      void fetchOnce()
        .catch(explain)
        .then(
          () => setReady(true),
          (error: unknown) => setFailure(error),
        )
    }, [])
    useEffect(attempt, [attempt])
    useEffect(() => {
      if (failure instanceof ApiError && failure.status === 0) return whenBack(attempt)
      return undefined
    }, [failure, attempt])
    if (Loaded) return <Loaded {...props} />
    if (failure === undefined) return meanwhile
    const shown = <Failure error={failure} onRetry={attempt} />
    // A dialog has no place of its own on the page, so its failure is a dialog too.
    return props.onClose ? <FailureDialog onClose={props.onClose}>{shown}</FailureDialog> : shown
  }
  // The router waits for this promise. It never rejects, so the router goes on to the component that shows the failure.
  const preload = () => fetchOnce().catch(() => undefined)
  return Object.assign(LazyComponent as unknown as Module[Name], { preload })
}

type Props = { onClose?: () => void }
type Components<Name extends string> = { readonly [N in Name]: (props: never) => ReactNode }

/** If the server answers, the file belongs to an older build and is gone. Then this reloads the document, once. */
async function explain(failure: unknown): Promise<never> {
  const answer = await get('/me').catch((reason: unknown) => reason)
  if (answer instanceof ApiError && answer.status === 0) throw answer
  if (sessionStorage.getItem(RELOADED) !== null) throw failure
  sessionStorage.setItem(RELOADED, 'yes')
  location.reload()
  return new Promise<never>(() => {})
}

/** The browser's own dialog, because ours may be what did not load. */
function FailureDialog({ onClose, children }: { onClose: () => void; children: ReactNode }) {
  const t = useTexts()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog
      ref={dialog}
      aria-label={t.failed}
      onClose={onClose}
      className="m-auto w-[calc(100%-2rem)] max-w-md rounded-2xl border border-line bg-raised text-ink shadow-float backdrop:bg-black/45"
    >
      {children}
      <div className="flex justify-end border-t border-line px-5 py-4">
        <Button onClick={onClose}>{t.close}</Button>
      </div>
    </dialog>
  )
}
