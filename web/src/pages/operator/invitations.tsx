import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { del, get, post } from '../../base/api.ts'
import { words } from '../../base/language.ts'
import { useService } from '../../base/session.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Input, Select } from '../../ui/field.tsx'
import { PlusIcon } from '../../ui/icons.tsx'
import { FormDialog } from '../../ui/form-dialog.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Empty, Table } from '../../ui/table.tsx'
import { toast } from '../../ui/toast.tsx'
import type { Invitation } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Convites',
    text: 'Quem tem o link abre uma conta, uma vez.',
    make: 'Criar convite',
    signup: {
      open: 'O cadastro está aberto: hoje qualquer pessoa pode abrir uma conta, com ou sem convite.',
      closed: 'O cadastro está fechado: um convite só vale depois que o servidor for configurado com SIGNUP=invite.',
    },
    email: 'E-mail',
    emailHint: 'Com e-mail, só essa pessoa pode usar o convite. Sem e-mail, quem tiver o link.',
    anybody: 'Quem tiver o link',
    days: 'Validade',
    daysCount: (days: number) => (days === 1 ? '1 dia' : `${days} dias`),
    madeTitle: 'Convite criado',
    once: 'Copie o link agora',
    onceText: 'Ele não será mostrado de novo.',
    mailed: 'Também foi enviado por e-mail.',
    link: 'Link do convite',
    done: 'Já copiei',
    for: 'Para',
    status: 'Situação',
    open: 'Em aberto',
    used: 'Usado',
    revoked: 'Revogado',
    expired: 'Expirado',
    madeBy: 'Criado por',
    expiresAt: 'Vale até',
    revoke: 'Revogar',
    revokeTitle: 'Revogar o convite?',
    revokeText: 'O link deixa de funcionar. Se for preciso, crie outro.',
    revokeDone: 'Convite revogado.',
    empty: 'Nenhum convite ainda',
    emptyText: 'Um convite é um link que abre uma conta.',
  },
  en: {
    title: 'Invitations',
    text: 'Whoever has the link opens one account with it.',
    make: 'Make an invitation',
    signup: {
      open: 'Signing up is open: today anybody can open an account, with an invitation or without.',
      closed: 'Signing up is closed: an invitation works only after the server is configured with SIGNUP=invite.',
    },
    email: 'E-mail',
    emailHint: 'With an e-mail only that person can use it. Without one, whoever has the link.',
    anybody: 'Whoever has the link',
    days: 'Good for',
    daysCount: (days: number) => (days === 1 ? '1 day' : `${days} days`),
    madeTitle: 'The invitation is made',
    once: 'Copy the link now',
    onceText: 'It will not be shown again.',
    mailed: 'It was sent by e-mail too.',
    link: 'Link of the invitation',
    done: 'I have copied it',
    for: 'For',
    status: 'State',
    open: 'Open',
    used: 'Used',
    revoked: 'Revoked',
    expired: 'Expired',
    madeBy: 'Made by',
    expiresAt: 'Good until',
    revoke: 'Revoke',
    revokeTitle: 'Revoke the invitation?',
    revokeText: 'The link stops working. Make another one if needed.',
    revokeDone: 'The invitation is revoked.',
    empty: 'No invitations yet',
    emptyText: 'An invitation is a link that opens an account.',
  },
})

const KEY = ['invitations']
const DAYS = [1, 7, 30, 90]

export function Invitations() {
  const t = useWords()
  const { signup } = useService()
  const [isMaking, setMaking] = useState(false)
  const [revoking, setRevoking] = useState<Invitation>()
  const queryClient = useQueryClient()
  const list = useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => get<{ invitations: Invitation[] }>('/operator/invitations', {}, { signal }),
  })
  return (
    <div className="space-y-6">
      {signup !== 'invite' && <Notice tone={signup === 'closed' ? 'wait' : 'still'}>{t.signup[signup]}</Notice>}
      <Card
        isFlush
        title={t.title}
        text={t.text}
        actions={
          <Button size="small" onClick={() => setMaking(true)}>
            <PlusIcon className="size-4" />
            {t.make}
          </Button>
        }
      >
        <InvitationTable
          rows={list.data?.invitations}
          error={list.error}
          onRetry={() => void list.refetch()}
          onRevoke={setRevoking}
        />
      </Card>
      {isMaking && <MakeDialog onClose={() => setMaking(false)} />}
      <ConfirmDialog
        isOpen={revoking !== undefined}
        onClose={() => setRevoking(undefined)}
        title={t.revokeTitle}
        text={t.revokeText}
        action={t.revoke}
        isDanger
        onConfirm={async () => {
          await del(`/operator/invitations/${revoking!.id}`)
          toast.good(t.revokeDone)
          await queryClient.invalidateQueries({ queryKey: KEY })
        }}
      />
    </div>
  )
}

function InvitationTable(props: {
  rows: Invitation[] | undefined
  error: Error | null
  onRetry: () => void
  onRevoke: (invitation: Invitation) => void
}) {
  const t = useWords()
  return (
    <Table
      caption={t.title}
      columns={[
        {
          key: 'email',
          header: t.for,
          cell: (row) => (
            <span className={`wrap-anywhere ${row.email === null ? 'text-soft' : 'font-medium'}`}>
              {row.email ?? t.anybody}
            </span>
          ),
        },
        { key: 'status', header: t.status, cell: (row) => <InvitationBadge invitation={row} /> },
        { key: 'expiresAt', header: t.expiresAt, cell: (row) => <DateTime at={row.expiresAt} /> },
        {
          key: 'madeBy',
          header: t.madeBy,
          isWideOnly: true,
          cell: (row) => <span className="wrap-anywhere">{row.madeBy}</span>,
        },
        {
          key: 'revoke',
          header: <span className="sr-only">{t.revoke}</span>,
          align: 'right',
          isActive: true,
          cell: (row) =>
            stateOf(row) === 'open' && (
              <Button size="small" onClick={() => props.onRevoke(row)}>
                {t.revoke}
              </Button>
            ),
        },
      ]}
      rows={props.rows}
      rowKey={(row) => row.id}
      error={props.error}
      onRetry={props.onRetry}
      empty={<Empty title={t.empty} text={t.emptyText} />}
    />
  )
}

const TONES = { open: 'wait', used: 'good', revoked: 'still', expired: 'still' } as const

function InvitationBadge({ invitation }: { invitation: Invitation }) {
  const t = useWords()
  const state = stateOf(invitation)
  return <Badge tone={TONES[state]}>{t[state]}</Badge>
}

function stateOf({ usedAt, revokedAt, expiresAt }: Invitation): keyof typeof TONES {
  if (usedAt !== null) return 'used'
  if (revokedAt !== null) return 'revoked'
  return Date.parse(expiresAt) <= Date.now() ? 'expired' : 'open'
}

type Made = { invitation: Invitation; link: string }

function MakeDialog({ onClose }: { onClose: () => void }) {
  const t = useWords()
  const { sendsMail } = useService()
  const [made, setMade] = useState<Made>()
  if (!made) return <MakeForm onClose={onClose} onMade={setMade} />
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t.madeTitle}
      footer={
        <Button kind="primary" onClick={onClose}>
          {t.done}
        </Button>
      }
    >
      <div className="space-y-4">
        <Notice tone="wait" title={t.once}>
          {t.onceText} {sendsMail && made.invitation.email !== null && t.mailed}
        </Notice>
        <CodeBlock code={made.link} label={t.link} />
      </div>
    </Dialog>
  )
}

function MakeForm({ onClose, onMade }: { onClose: () => void; onMade: (made: Made) => void }) {
  const t = useWords()
  const queryClient = useQueryClient()
  const [email, setEmail] = useState('')
  const [days, setDays] = useState('7')
  const make = useMutation({
    mutationFn: () => post<Made>('/operator/invitations', { email: email.trim() || null, expiresInDays: Number(days) }),
    onSuccess: (made) => {
      onMade(made)
      return queryClient.invalidateQueries({ queryKey: KEY })
    },
  })
  return (
    <FormDialog
      title={t.make}
      text={t.text}
      action={t.make}
      sending={make}
      onSend={() => make.mutate()}
      onClose={onClose}
    >
      <Input
        label={t.email}
        hint={t.emailHint}
        isOptional
        type="email"
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        maxLength={254}
        autoComplete="off"
      />
      <Select
        label={t.days}
        value={days}
        onChange={(event) => setDays(event.target.value)}
        choices={DAYS.map((count) => ({ value: String(count), label: t.daysCount(count) }))}
      />
    </FormDialog>
  )
}
