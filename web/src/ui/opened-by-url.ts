import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'

/** Something that opens by a click, or by `?open=<name>`. The query string then loses it, so a reload opens nothing. */
export function useOpenedByUrl(name: string | undefined): [isOpen: boolean, setOpen: (isOpen: boolean) => void] {
  const [isOpen, setOpen] = useState(false)
  const { open, ...others }: Record<string, string | undefined> = useSearch({ strict: false })
  const navigate = useNavigate()
  const isNamed = name !== undefined && open === name
  useEffect(() => {
    if (!isNamed) return
    setOpen(true)
    void navigate({ to: '.', search: others, replace: true, resetScroll: false })
    // `others` is a new object on each render, with the same meaning.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [isNamed])
  return [isOpen, setOpen]
}
