import { useState } from 'react'
import { late } from '../../base/late.ts'

const NewDepositDialog = late(async () => (await import('./new-deposit.tsx')).NewDepositDialog)

/** The dialog with all that it needs, loaded when it is first opened. */
export function NewDepositDoor({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const [wasOpen, setWasOpen] = useState(false)
  if (isOpen && !wasOpen) setWasOpen(true)
  return wasOpen && <NewDepositDialog isOpen={isOpen} onClose={onClose} />
}
