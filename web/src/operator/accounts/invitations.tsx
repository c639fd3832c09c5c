import { useState } from 'react'
import { del, post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { refresh, useGet } from '../../base/queries.ts'
import { useService } from '../../base/session.ts'
import type { Invitation } from '../../contract/types.ts'
import { Button, DialogButton } from '../../ui/button.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Card, Empty } from '../../ui/page.tsx'
import { Table, type Column } from '../../ui/data/table.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { Input, Select, useFields } from '../../ui/form/form.tsx'
import { ConfirmDialog, FormDialog, Secret, ShownOnce } from '../../ui/form/form-dialog.tsx'
import { PlusIcon } from '../../ui/icons.tsx'
import { Notice } from '../../ui/notice.tsx'

const useTexts = translations({
  title: ['Convites', 'Invitations'],
  text: ['Cada link cria uma conta, uma única vez.', 'Each link creates one account.'],
  create: ['Criar convite', 'Create invitation'],
  signup: {
    open: [
      'O cadastro está aberto: qualquer pessoa pode criar uma conta, com ou sem convite.',
      'Sign-up is open: anyone can create an account, with or without an invitation.',
    ],
    closed: [
      'O cadastro está fechado: convites só funcionam com SIGNUP=invite no servidor.',
      'Sign-up is closed: invitations only work with SIGNUP=invite on the server.',
    ],
  },
  email: ['E-mail', 'Email'],
  emailHint: [
    'Com e-mail, só essa pessoa pode usar o convite. Sem e-mail, qualquer pessoa com o link.',
    'With an email, only that person can use it. Without one, anyone with the link.',
  ],
  anybody: ['Qualquer pessoa com o link', 'Anyone with the link'],
  days: ['Validade', 'Expires after'],
  daysCount: (days: number) => [days === 1 ? '1 dia' : `${days} dias`, days === 1 ? '1 day' : `${days} days`],
  madeTitle: ['Convite criado', 'Invitation created'],
  once: ['Copie o link agora: ele não será mostrado de novo.', 'Copy the link now: it won’t be shown again.'],
  mailed: ['Também foi enviado por e-mail.', 'It was also sent by email.'],
  link: ['Link do convite', 'Invitation link'],
  copy: ['Copiar link', 'Copy link'],
  for: ['Para', 'For'],
  status: ['Situação', 'Status'],
  open: ['Pendente', 'Pending'],
  used: ['Usado', 'Used'],
  revoked: ['Revogado', 'Revoked'],
  expired: ['Expirado', 'Expired'],
  madeBy: ['Criado por', 'Created by'],
  expiresAt: ['Expira', 'Expires'],
  revoke: ['Revogar', 'Revoke'],
  revokeTitle: ['Revogar este convite?', 'Revoke this invitation?'],
  revokeText: [
    'O link deixa de funcionar. Você pode criar outro.',
    'The link stops working. You can create another one.',
  ],
  revokeDone: ['Convite revogado.', 'Invitation revoked.'],
  empty: ['Nenhum convite ainda', 'No invitations yet'],
  emptyText: ['Um convite é um link para criar uma conta.', 'An invitation is a link to create an account.'],
})

const KEY = ['invitations']
const DAYS = [1, 7, 30, 90]

export function Invitations() {
  const t = useTexts()
  const { signup } = useService()
  const [revoking, setRevoking] = useState<Invitation>()
  const list = useGet<{ invitations: Invitation[] }>(KEY, '/operator/invitations')
  return (
    <div className="space-y-6">
      {signup !== 'invite' && <Notice tone={signup === 'closed' ? 'wait' : 'still'}>{t.signup[signup]}</Notice>}
      <Card
        isFlush
        title={t.title}
        text={t.text}
        actions={
          <DialogButton icon={PlusIcon} size="small" dialog={(onClose) => <NewInvitation onClose={onClose} />}>
            {t.create}
          </DialogButton>
        }
      >
        <Table
          caption={t.title}
          columns={useColumns(setRevoking)}
          list={{ rows: list.data?.invitations, error: list.error, retry: () => void list.refetch() }}
          rowKey={(row) => row.id}
          empty={<Empty title={t.empty} text={t.emptyText} />}
        />
      </Card>
      {revoking && (
        <ConfirmDialog
          onClose={() => setRevoking(undefined)}
          title={t.revokeTitle}
          text={t.revokeText}
          action={t.revoke}
          isDanger
          onSend={() => del(`/operator/invitations/${revoking.id}`)}
          done={t.revokeDone}
          refreshes={[KEY]}
        />
      )}
    </div>
  )
}

function useColumns(onRevoke: (invitation: Invitation) => void): Column<Invitation>[] {
  const t = useTexts()
  return [
    {
      header: t.for,
      cell: (row) => (
        <span className={`wrap-anywhere ${row.email === null ? 'text-soft' : 'font-medium'}`}>
          {row.email ?? t.anybody}
        </span>
      ),
    },
    { header: t.status, cell: (row) => <Badge tone={TONES[stateOf(row)]}>{t[stateOf(row)]}</Badge> },
    { header: t.expiresAt, cell: (row) => <DateTime at={row.expiresAt} /> },
    { header: t.madeBy, isWideOnly: true, cell: (row) => <span className="wrap-anywhere">{row.madeBy}</span> },
    {
      header: <span className="sr-only">{t.revoke}</span>,
      align: 'right',
      isActive: true,
      cell: (row) =>
        stateOf(row) === 'open' && (
          <Button size="small" onClick={() => onRevoke(row)}>
            {t.revoke}
          </Button>
        ),
    },
  ]
}

const TONES = { open: 'wait', used: 'good', revoked: 'still', expired: 'still' } as const

function stateOf({ usedAt, revokedAt, expiresAt }: Invitation): keyof typeof TONES {
  if (usedAt !== null) return 'used'
  if (revokedAt !== null) return 'revoked'
  return Date.parse(expiresAt) <= Date.now() ? 'expired' : 'open'
}

type Made = { invitation: Invitation; link: string }

/** Shows a form, and then the link, once. */
function NewInvitation({ onClose }: { onClose: () => void }) {
  const t = useTexts()
  const { sendsMail } = useService()
  const { typed, field } = useFields({ email: '', days: '7' })
  const [made, setMade] = useState<Made>()
  const create = async () => {
    const body = { email: typed.email.trim() || null, expiresInDays: Number(typed.days) }
    setMade(await post('/operator/invitations', body))
    await refresh(KEY)
  }
  if (made) {
    const isMailed = sendsMail && made.invitation.email !== null
    return (
      <ShownOnce title={t.madeTitle} warning={isMailed ? `${t.once} ${t.mailed}` : t.once} onClose={onClose}>
        <Secret label={t.link} text={made.link} copyLabel={t.copy} />
      </ShownOnce>
    )
  }
  return (
    <FormDialog title={t.create} text={t.text} action={t.create} onSend={create} onClose={onClose}>
      <Input {...field('email')} label={t.email} hint={t.emailHint} isOptional type="email" maxLength={254} />
      <Select
        {...field('days')}
        label={t.days}
        choices={DAYS.map((count) => ({ value: String(count), label: t.daysCount(count) }))}
      />
    </FormDialog>
  )
}
