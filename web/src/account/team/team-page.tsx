import { useState } from 'react'
import { del, patch, put } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { refresh, useGet } from '../../base/queries.ts'
import { useRoleNames } from '../../base/roles.ts'
import { sessionQuery, useMay, useMe } from '../../base/session.ts'
import type { Member, Members } from '../../contract/types.ts'
import { Badge } from '../../ui/badge.tsx'
import { ActionButton, DialogButton, IconButton } from '../../ui/button.tsx'
import { Table, type Column } from '../../ui/data/table.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { ConfirmDialog, FormDialog } from '../../ui/form/form-dialog.tsx'
import { MoreIcon, PlusIcon } from '../../ui/icons.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Card, Page } from '../../ui/page.tsx'
import { toast } from '../../ui/toast.tsx'
import { TEAM } from './team-query.ts'
import { InviteDialog } from './invite-dialog.tsx'
import { OpenInvitations } from './open-invitations.tsx'
import { RoleChoice } from './role-choice.tsx'

const useTexts = translations({
  title: ['Equipe', 'Team'],
  text: [
    'Cada pessoa entra com o próprio e-mail, e a auditoria diz quem fez o quê.',
    'Each person signs in with their own email, and the audit log says who did what.',
  ],
  members: ['Membros', 'Members'],
  invite: ['Convidar', 'Invite'],
  name: ['Nome', 'Name'],
  role: ['Papel', 'Role'],
  you: ['Você', 'You'],
  secondFactor: ['Duas etapas', 'Two-step'],
  on: ['Ativada', 'On'],
  off: ['Desativada', 'Off'],
  added: ['Desde', 'Since'],
  actions: (name: string) => [`Ações para ${name}`, `Actions for ${name}`],
  change: ['Alterar papel', 'Change role'],
  changeOf: (name: string) => [`Papel de ${name}`, `Role of ${name}`],
  save: ['Salvar', 'Save'],
  changed: ['Papel alterado. Vale a partir da próxima ação.', 'Role changed. It applies from their next action on.'],
  remove: ['Remover', 'Remove'],
  removeTitle: (name: string) => [`Remover ${name} da equipe?`, `Remove ${name} from the team?`],
  removeText: [
    'A pessoa sai da conta na próxima ação. As chaves de API que ela criou continuam valendo.',
    'Their next action signs them out. API keys that they made keep working.',
  ],
  removed: ['Membro removido.', 'Member removed.'],
  demandTitle: ['Verificação em duas etapas para todos', 'Two-step verification for everyone'],
  demandText: [
    'Quem não a ativou só consegue ativá-la, até que o faça.',
    'Members who have not turned it on can do nothing else until they do.',
  ],
  demand: ['Exigir de todos', 'Require it'],
  demandNot: ['Deixar de exigir', 'Stop requiring it'],
  demanded: ['Exigida', 'Required'],
  notDemanded: ['Não exigida', 'Not required'],
  demandDone: ['Alterado.', 'Changed.'],
})

type Action = { kind: 'role' | 'remove'; member: Member }

export function TeamPage() {
  const t = useTexts()
  const may = useMay()
  const [action, setAction] = useState<Action>()
  const team = useGet<Members>(TEAM, '/members')
  const close = () => setAction(undefined)
  return (
    <Page
      title={t.title}
      text={t.text}
      actions={
        may('members:write') && (
          <DialogButton
            icon={PlusIcon}
            kind="primary"
            opensBy="new"
            dialog={(onClose) => <InviteDialog onClose={onClose} />}
          >
            {t.invite}
          </DialogButton>
        )
      }
    >
      <Card isFlush title={t.members}>
        <Table
          caption={t.members}
          columns={useColumns(setAction)}
          list={{ rows: team.data?.members, error: team.error, retry: () => void team.refetch() }}
          rowKey={(member) => member.userId}
          skeletonRows={3}
          empty={null}
        />
      </Card>
      {team.data && team.data.invitations.length > 0 && <OpenInvitations invitations={team.data.invitations} />}
      {team.data && <DemandCard isDemanded={team.data.requiresSecondFactor} />}
      {action?.kind === 'role' && <RoleDialog member={action.member} onClose={close} />}
      {action?.kind === 'remove' && (
        <ConfirmDialog
          isDanger
          title={t.removeTitle(action.member.name)}
          text={t.removeText}
          action={t.remove}
          onSend={() => del(`/members/${action.member.userId}`)}
          onClose={close}
          done={t.removed}
          refreshes={[TEAM]}
        />
      )}
    </Page>
  )
}

function useColumns(onAction: (action: Action) => void): Column<Member>[] {
  const t = useTexts()
  const me = useMe()
  const may = useMay()
  const roleNames = useRoleNames()
  return [
    {
      header: t.name,
      cell: (member) => (
        <span className="flex flex-col max-md:items-end">
          <span className="flex flex-wrap items-center gap-2 font-medium wrap-anywhere">
            {member.name} {member.email === me.email && <Badge>{t.you}</Badge>}
          </span>
          <span className="text-sm text-soft wrap-anywhere">{member.email}</span>
        </span>
      ),
    },
    { header: t.role, width: 'w-36', cell: (member) => roleNames[member.role] },
    {
      header: t.secondFactor,
      width: 'w-36',
      cell: (member) => (
        <Badge tone={member.hasSecondFactor ? 'good' : 'wait'}>{member.hasSecondFactor ? t.on : t.off}</Badge>
      ),
    },
    { header: t.added, isWideOnly: true, width: 'w-44', cell: (member) => <DateTime at={member.addedAt} relative /> },
    {
      header: <span className="sr-only">{t.role}</span>,
      align: 'right',
      isActive: true,
      width: 'w-16',
      cell: (member) =>
        may('members:write') && (
          <Menu
            trigger={
              <IconButton label={t.actions(member.name)}>
                <MoreIcon />
              </IconButton>
            }
            items={[
              { label: t.change, onSelect: () => onAction({ kind: 'role', member }) },
              { label: t.remove, isDanger: true, onSelect: () => onAction({ kind: 'remove', member }) },
            ]}
          />
        ),
    },
  ]
}

function RoleDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  const t = useTexts()
  const [role, setRole] = useState(member.role)
  const save = async () => {
    await patch(`/members/${member.userId}`, { role })
    toast.good(t.changed)
    await refresh(TEAM, sessionQuery.queryKey)
    onClose()
  }
  return (
    <FormDialog title={t.changeOf(member.name)} action={t.save} onSend={save} onClose={onClose}>
      <RoleChoice value={role} onChange={setRole} />
    </FormDialog>
  )
}

function DemandCard({ isDemanded }: { isDemanded: boolean }) {
  const t = useTexts()
  const may = useMay()
  const change = async () => {
    await put('/members/second-factor', { required: !isDemanded })
    toast.good(t.demandDone)
    await refresh(TEAM, sessionQuery.queryKey)
  }
  return (
    <Card
      title={
        <span className="flex flex-wrap items-center gap-2">
          {t.demandTitle}
          <Badge tone={isDemanded ? 'good' : 'still'}>{isDemanded ? t.demanded : t.notDemanded}</Badge>
        </span>
      }
    >
      <p className="max-w-xl text-soft">{t.demandText}</p>
      {may('members:write') && (
        <ActionButton className="mt-4" onAction={change}>
          {isDemanded ? t.demandNot : t.demand}
        </ActionButton>
      )}
    </Card>
  )
}
