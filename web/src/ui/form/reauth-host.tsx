import { useEffect, useRef, useState } from 'react'
import { setAuthHandlers } from '../../base/api.ts'
import { lazyComponent } from '../lazy-component.tsx'

const ReauthDialog = lazyComponent(() => import('./reauth-dialog.tsx'), 'ReauthDialog')

/** It is mounted once. base/api.ts asks it for the password when the server wants it, and then repeats the call. */
export function ReauthHost() {
  const [isOpen, setOpen] = useState(false)
  // Several calls may need it at once: one dialog answers them all.
  const pending = useRef<((isDone: boolean) => void)[]>([])
  useEffect(() => {
    setAuthHandlers({
      reauthenticate: () => {
        setOpen(true)
        return new Promise((resolve) => pending.current.push(resolve))
      },
    })
  }, [])
  if (!isOpen) return null
  const end = (isDone: boolean) => {
    setOpen(false)
    for (const resolve of pending.current.splice(0)) resolve(isDone)
  }
  return <ReauthDialog onDone={() => end(true)} onClose={() => end(false)} />
}
