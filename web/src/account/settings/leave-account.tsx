import { translations } from '../../base/language.ts'
import { leaveAccount, useMe } from '../../base/session.ts'
import { useRoleNames } from '../../base/roles.ts'
import { DialogButton } from '../../ui/button.tsx'
import { ConfirmDialog } from '../../ui/form/form-dialog.tsx'
import { Card } from '../../ui/page.tsx'

const useTexts = translations({
  title: ['Esta conta', 'This account'],
  text: (account: string, role: string) => [
    `Você participa de ${account}. Seu papel: ${role}.`,
    `You are on the team of ${account}. Your role: ${role}.`,
  ],
  leave: ['Sair da conta', 'Leave this account'],
  sure: ['Sair desta conta?', 'Leave this account?'],
  sureText: [
    'Você deixa de ver esta conta. Para voltar, precisa de outro convite.',
    'You will no longer see this account. To come back, you need another invitation.',
  ],
})

/** The last owner is refused. */
export function LeaveAccount() {
  const t = useTexts()
  const roleNames = useRoleNames()
  const { accountId, accounts, role } = useMe()
  const account = accounts.find((one) => one.accountId === accountId)
  if (!account || role === null) return null
  return (
    <Card title={t.title}>
      <p className="max-w-xl text-soft">{t.text(account.name, roleNames[role])}</p>
      <DialogButton
        className="mt-4"
        dialog={(onClose) => (
          <ConfirmDialog
            isDanger
            title={t.sure}
            text={t.sureText}
            action={t.leave}
            onSend={leaveAccount}
            onClose={onClose}
          />
        )}
      >
        {t.leave}
      </DialogButton>
    </Card>
  )
}
