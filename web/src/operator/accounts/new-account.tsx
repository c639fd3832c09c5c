import { useState } from 'react'
import { post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import type { Account } from '../../contract/types.ts'
import { DetailList } from '../../ui/page.tsx'
import { Input, useFields } from '../../ui/form/form.tsx'
import { FormDialog, Secret, ShownOnce } from '../../ui/form/form-dialog.tsx'

const useTexts = translations({
  title: ['Criar conta', 'Create account'],
  text: [
    'Geramos a senha; o titular pode trocá-la depois de entrar. Tarifa e limites começam com os padrões.',
    'We generate the password; the account holder can change it after signing in. Fee and limits start with the defaults.',
  ],
  email: ['E-mail do titular', 'Email of the account holder'],
  name: ['Nome', 'Name'],
  nameHint: ['Os pagadores o veem na página de pagamento.', 'Payers see it on the payment page.'],
  create: ['Criar conta', 'Create account'],
  made: ['Conta criada', 'Account created'],
  once: [
    'Copie a senha agora: ela não será mostrada de novo. Envie-a ao titular por um canal seguro.',
    'Copy the password now: it won’t be shown again. Send it to the account holder securely.',
  ],
  password: ['Senha', 'Password'],
  copy: ['Copiar senha', 'Copy password'],
  open: ['Abrir a conta', 'Open the account'],
})

/** Shows a form, and then the password, once. */
export function NewAccountDialog({ onClose }: { onClose: () => void }) {
  const t = useTexts()
  const { typed, field } = useFields({ email: '', name: '' })
  const [made, setMade] = useState<{ account: Account; password: string }>()
  const [email, name] = [typed.email.trim(), typed.name.trim()]
  const create = async () => {
    setMade(await post('/operator/accounts', { email, name }))
    await refresh(['list', '/operator/accounts'])
  }
  if (made)
    return (
      <ShownOnce
        title={t.made}
        warning={t.once}
        next={{ text: t.open, to: `/operator/accounts/${made.account.id}` }}
        onClose={onClose}
      >
        <DetailList
          details={[
            { name: t.name, value: made.account.name },
            { name: t.email, value: made.account.email },
          ]}
        />
        <Secret label={t.password} text={made.password} copyLabel={t.copy} />
      </ShownOnce>
    )
  return (
    <FormDialog
      title={t.title}
      text={t.text}
      action={t.create}
      onSend={create}
      onClose={onClose}
      canSend={email !== '' && name !== ''}
    >
      <Input {...field('email')} label={t.email} type="email" maxLength={254} required />
      <Input {...field('name')} label={t.name} hint={t.nameHint} maxLength={100} required />
    </FormDialog>
  )
}
