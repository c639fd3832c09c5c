import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { setDoors } from '../base/api.ts'

const PasswordDialog = lazy(() => import('./password-dialog.tsx'))

/** Stands once in the page. base/api.ts comes here when the server wants the password, and repeats its call afterwards. */
export function PasswordDoor() {
  const [isOpen, setOpen] = useState(false)
  // Several calls may want it at once: one dialog answers them all.
  const waiting = useRef<((isDone: boolean) => void)[]>([])
  useEffect(() => {
    setDoors({
      reauthenticate: () => {
        setOpen(true)
        return new Promise((resolve) => waiting.current.push(resolve))
      },
    })
  }, [])
  if (!isOpen) return null
  const end = (isDone: boolean) => {
    setOpen(false)
    for (const resolve of waiting.current.splice(0)) resolve(isDone)
  }
  return (
    <Suspense>
      <PasswordDialog onEnd={end} />
    </Suspense>
  )
}
