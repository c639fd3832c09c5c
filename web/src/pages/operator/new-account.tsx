import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, post } from '../../base/api.ts'
import { words } from '../../base/language.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { Facts } from '../../ui/card.tsx'
import { Copyable } from '../../ui/copy-button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Input } from '../../ui/field.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Notice } from '../../ui/notice.tsx'
import type { Account } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Criar conta',
    text: 'Geramos a senha; o titular pode trocá-la depois de entrar. Tarifa e limites começam como os da instalação.',
    email: 'E-mail do titular',
    name: 'Nome',
    nameHint: 'Quem recebe, como os pagadores o veem.',
    create: 'Criar conta',
    taken: 'Este e-mail já é de uma conta ou de um operador.',
    made: 'Conta criada',
    once: 'Copie a senha agora',
    onceText: 'Ela não será mostrada de novo. Entregue-a ao titular por um canal seguro.',
    password: 'Senha',
    copy: 'Copiar a senha',
    open: 'Abrir a conta',
    done: 'Já copiei',
  },
  en: {
    title: 'Create account',
    text: 'We make the password; its holder can change it after signing in. Fee and limits begin as the deployment’s.',
    email: 'E-mail of the holder',
    name: 'Name',
    nameHint: 'Who is paid, as payers see it.',
    create: 'Create account',
    taken: 'This e-mail is an account’s or an operator’s already.',
    made: 'The account is made',
    once: 'Copy the password now',
    onceText: 'It will not be shown again. Hand it to the holder by a safe way.',
    password: 'Password',
    copy: 'Copy the password',
    open: 'Open the account',
    done: 'I have copied it',
  },
})

type Made = { account: Account; password: string }

export function NewAccountDialog({ onClose }: { onClose: () => void }) {
  const t = useWords()
  const [made, setMade] = useState<Made>()
  if (!made) return <Form onClose={onClose} onMade={setMade} />
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t.made}
      footer={
        <>
          <ButtonLink to={`/operator/accounts/${made.account.id}`}>{t.open}</ButtonLink>
          <Button kind="primary" onClick={onClose}>
            {t.done}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <Notice tone="wait" title={t.once}>
          {t.onceText}
        </Notice>
        <Facts
          facts={[
            { name: t.name, value: made.account.name },
            { name: t.email, value: made.account.email },
            { name: t.password, value: <Copyable text={made.password} label={t.copy} /> },
          ]}
        />
      </div>
    </Dialog>
  )
}

function Form({ onClose, onMade }: { onClose: () => void; onMade: (made: Made) => void }) {
  const t = useWords()
  const queryClient = useQueryClient()
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const make = useMutation({
    mutationFn: () => post<Made>('/operator/accounts', { email: email.trim(), name: name.trim() }),
    onSuccess: (made) => {
      onMade(made)
      return queryClient.invalidateQueries({ queryKey: ['list', '/operator/accounts'] })
    },
  })
  return (
    <FormDialog
      title={t.title}
      text={t.text}
      action={t.create}
      sending={make}
      onSend={() => make.mutate()}
      onClose={onClose}
      canSend={email.trim() !== '' && name.trim() !== ''}
      refusalText={(error) => (error instanceof ApiError && error.status === 409 ? t.taken : undefined)}
    >
      <Input
        label={t.email}
        type="email"
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        maxLength={254}
        autoComplete="off"
        required
      />
      <Input
        label={t.name}
        hint={t.nameHint}
        value={name}
        onChange={(event) => setName(event.target.value)}
        maxLength={100}
        autoComplete="off"
        required
      />
    </FormDialog>
  )
}
