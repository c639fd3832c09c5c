import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { auth } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { addPasskey, hasPasskeys, isDismissed } from '../../base/passkeys.ts'
import { refresh } from '../../base/queries.ts'
import { DialogButton } from '../../ui/button.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { Input, useFields } from '../../ui/form/form.tsx'
import { ConfirmDialog, FormDialog } from '../../ui/form/form-dialog.tsx'
import { Card, Failure, Skeleton } from '../../ui/page.tsx'
import { toast } from '../../ui/toast.tsx'
import { CurrentCode } from './current-code.tsx'

const useTexts = translations({
  title: ['Passkeys', 'Passkeys'],
  text: [
    'Entre com a digital, o rosto ou o PIN do seu aparelho, sem senha. Vale como as duas etapas.',
    'Sign in with your device’s fingerprint, face or PIN, without a password. It counts as both steps.',
  ],
  add: ['Adicionar passkey', 'Add passkey'],
  addText: ['Seu navegador vai pedir a confirmação.', 'Your browser will ask you to confirm.'],
  name: ['Nome', 'Name'],
  nameHint: ['Como “Celular” ou “Notebook do trabalho”.', 'Such as “Phone” or “Work laptop”.'],
  added: ['Passkey adicionada.', 'Passkey added.'],
  dismissed: ['Nada foi adicionado.', 'Nothing was added.'],
  none: ['Nenhuma ainda.', 'None yet.'],
  unsupported: ['Este navegador não tem suporte a passkeys.', 'This browser does not support passkeys.'],
  since: ['desde', 'since'],
  used: ['último uso', 'last used'],
  remove: ['Remover', 'Remove'],
  removeTitle: (name: string) => [`Remover a passkey ${name}?`, `Remove the passkey ${name}?`],
  removeText: [
    'Ela não entra mais na sua conta. Apague-a também no aparelho.',
    'It no longer signs you in. Delete it on the device too.',
  ],
  removed: ['Passkey removida.', 'Passkey removed.'],
})

const KEY = ['passkeys']
type Passkey = { id: string; name: string; createdAt: string; lastUsedAt: string | null }

export function Passkeys() {
  const t = useTexts()
  const list = useQuery({ queryKey: KEY, queryFn: () => auth.get<{ passkeys: Passkey[] }>('passkeys') })
  const passkeys = list.data?.passkeys
  return (
    <Card
      title={t.title}
      text={t.text}
      actions={
        hasPasskeys() && (
          <DialogButton size="small" dialog={(onClose) => <AddDialog onClose={onClose} />}>
            {t.add}
          </DialogButton>
        )
      }
    >
      {list.error && <Failure error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Skeleton className="h-6 w-full" />}
      {passkeys?.length === 0 && <p className="text-soft">{hasPasskeys() ? t.none : t.unsupported}</p>}
      <ul className="divide-y divide-line">
        {passkeys?.map((passkey) => (
          <Row key={passkey.id} passkey={passkey} />
        ))}
      </ul>
    </Card>
  )
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const t = useTexts()
  const { typed, field } = useFields({ name: '', code: '' })
  const add = async () => {
    try {
      await addPasskey(typed.name.trim(), typed.code)
      toast.good(t.added)
    } catch (error) {
      if (!isDismissed(error)) throw error
      toast.good(t.dismissed)
    }
    await refresh(KEY)
    onClose()
  }
  return (
    <FormDialog title={t.add} text={t.addText} action={t.add} onSend={add} onClose={onClose}>
      <Input {...field('name')} label={t.name} hint={t.nameHint} required maxLength={100} />
      <CurrentCode {...field('code')} />
    </FormDialog>
  )
}

function Row({ passkey: { id, name, createdAt, lastUsedAt } }: { passkey: Passkey }) {
  const t = useTexts()
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 py-3 first:pt-0 last:pb-0">
      <div className="min-w-0">
        <p className="font-medium wrap-anywhere">{name}</p>
        <p className="text-sm text-soft">
          {t.since} <DateTime at={createdAt} />
          {lastUsedAt !== null && (
            <>
              , {t.used} <DateTime at={lastUsedAt} relative />
            </>
          )}
        </p>
      </div>
      <DialogButton size="small" dialog={(onClose) => <RemoveDialog id={id} name={name} onClose={onClose} />}>
        {t.remove}
      </DialogButton>
    </li>
  )
}

function RemoveDialog({ id, name, onClose }: { id: string; name: string; onClose: () => void }) {
  const t = useTexts()
  const [code, setCode] = useState('')
  return (
    <ConfirmDialog
      isDanger
      title={t.removeTitle(name)}
      text={t.removeText}
      action={t.remove}
      onSend={() => auth.post('passkeys/remove', { id, code })}
      onClose={onClose}
      done={t.removed}
      refreshes={[KEY]}
    >
      <CurrentCode value={code} onChange={setCode} />
    </ConfirmDialog>
  )
}
