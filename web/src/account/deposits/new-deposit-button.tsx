import { useId } from 'react'
import { translations } from '../../base/language.ts'
import { useMay, useMe } from '../../base/session.ts'
import { DialogButton } from '../../ui/button.tsx'
import { PlusIcon } from '../../ui/icons.tsx'
import { lazyComponent } from '../../ui/lazy-component.tsx'

const useTexts = translations({
  create: ['Novo depósito', 'New deposit'],
  suspended: ['Indisponível: conta suspensa', 'Unavailable: account suspended'],
})

const NewDepositDialog = lazyComponent(() => import('./new-deposit.tsx'), 'NewDepositDialog')

/** A suspended account cannot make deposits. The button says so before the user fills in a form. */
export function NewDepositButton({ kind = 'primary', opensBy }: { kind?: 'primary' | 'secondary'; opensBy?: string }) {
  const t = useTexts()
  const id = useId()
  const { suspendedReason } = useMe()
  const may = useMay()
  const isSuspended = suspendedReason !== null
  if (!may('deposits:write') && !may('deposits:today')) return null
  return (
    <div>
      <DialogButton
        icon={PlusIcon}
        kind={kind}
        opensBy={opensBy}
        disabled={isSuspended}
        dialog={(onClose) => <NewDepositDialog onClose={onClose} />}
        {...(isSuspended && { title: suspendedReason, 'aria-describedby': id })}
      >
        {t.create}
      </DialogButton>
      {isSuspended && (
        <p id={id} className="mt-1 text-sm text-soft">
          {t.suspended}
        </p>
      )}
    </div>
  )
}
