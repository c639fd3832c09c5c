import { useState } from 'react'
import { post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import type { Role } from '../../contract/codes.ts'
import { Input, useFields } from '../../ui/form/form.tsx'
import { FormDialog, Secret, ShownOnce } from '../../ui/form/form-dialog.tsx'
import { toast } from '../../ui/toast.tsx'
import { RoleChoice } from './role-choice.tsx'
import { TEAM } from './team-query.ts'

const useTexts = translations({
  title: ['Convidar para a equipe', 'Invite to the team'],
  text: [
    'A pessoa recebe um link por e-mail, que vale por 7 dias.',
    'They get a link by email, which works for 7 days.',
  ],
  email: ['E-mail', 'Email'],
  send: ['Enviar convite', 'Send invitation'],
  sent: ['Convite enviado.', 'Invitation sent.'],
  shownTitle: ['Convite criado', 'Invitation created'],
  shown: [
    'No modo de teste nenhum e-mail é enviado. Copie o link agora: ele não será mostrado de novo.',
    'No email is sent in test mode. Copy the link now: it won’t be shown again.',
  ],
  link: ['Link do convite', 'Invitation link'],
  copy: ['Copiar link', 'Copy link'],
})

export function InviteDialog({ onClose }: { onClose: () => void }) {
  const t = useTexts()
  const { typed, field } = useFields({ email: '' })
  const [role, setRole] = useState<Role>('viewer')
  const [link, setLink] = useState<string>()
  const send = async () => {
    const made = await post<{ link: string | null }>('/members/invitations', { email: typed.email.trim(), role })
    await refresh(TEAM)
    if (made.link !== null) return setLink(made.link)
    toast.good(t.sent)
    onClose()
  }
  if (link !== undefined) return <InvitationLink link={link} onClose={onClose} />
  return (
    <FormDialog title={t.title} text={t.text} action={t.send} onSend={send} onClose={onClose}>
      <Input {...field('email')} label={t.email} type="email" required maxLength={254} />
      <RoleChoice value={role} onChange={setRole} />
    </FormDialog>
  )
}

/** In a sandbox without a mail server. */
export function InvitationLink({ link, onClose }: { link: string; onClose: () => void }) {
  const t = useTexts()
  return (
    <ShownOnce title={t.shownTitle} warning={t.shown} onClose={onClose}>
      <Secret label={t.link} text={link} copyLabel={t.copy} />
    </ShownOnce>
  )
}
