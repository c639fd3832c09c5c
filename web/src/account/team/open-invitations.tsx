import { useState } from 'react'
import { del, post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import { useRoleNames } from '../../base/roles.ts'
import { useMay } from '../../base/session.ts'
import type { MemberInvitation } from '../../contract/types.ts'
import { Badge } from '../../ui/badge.tsx'
import { ActionButton, Button } from '../../ui/button.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { ConfirmDialog } from '../../ui/form/form-dialog.tsx'
import { Card } from '../../ui/page.tsx'
import { toast } from '../../ui/toast.tsx'
import { InvitationLink } from './invite-dialog.tsx'
import { TEAM } from './team-query.ts'

const useTexts = translations({
  title: ['Convites em aberto', 'Open invitations'],
  invitedBy: (email: string) => [`Convite de ${email}`, `Invited by ${email}`],
  expired: ['Expirado', 'Expired'],
  expires: ['expira', 'expires'],
  resend: ['Reenviar', 'Resend'],
  resent: [
    'Convite reenviado. O link anterior não vale mais.',
    'Invitation sent again. The earlier link no longer works.',
  ],
  revoke: ['Revogar', 'Revoke'],
  revokeTitle: (email: string) => [`Revogar o convite de ${email}?`, `Revoke the invitation of ${email}?`],
  revokeText: ['O link deixa de funcionar.', 'The link stops working.'],
  revoked: ['Convite revogado.', 'Invitation revoked.'],
})

export function OpenInvitations({ invitations }: { invitations: readonly MemberInvitation[] }) {
  const t = useTexts()
  const [revoking, setRevoking] = useState<MemberInvitation>()
  const [link, setLink] = useState<string>()
  return (
    <Card isFlush title={t.title}>
      <ul className="divide-y divide-line border-t border-line">
        {invitations.map((invitation) => (
          <Row key={invitation.id} invitation={invitation} onRevoke={() => setRevoking(invitation)} onLink={setLink} />
        ))}
      </ul>
      {link !== undefined && <InvitationLink link={link} onClose={() => setLink(undefined)} />}
      {revoking && (
        <ConfirmDialog
          isDanger
          title={t.revokeTitle(revoking.email)}
          text={t.revokeText}
          action={t.revoke}
          onSend={() => del(`/members/invitations/${revoking.id}`)}
          onClose={() => setRevoking(undefined)}
          done={t.revoked}
          refreshes={[TEAM]}
        />
      )}
    </Card>
  )
}

function Row(props: { invitation: MemberInvitation; onRevoke: () => void; onLink: (link: string) => void }) {
  const t = useTexts()
  const may = useMay()
  const roleNames = useRoleNames()
  const { id, email, role, invitedBy, expiresAt } = props.invitation
  const isExpired = hasPassed(expiresAt)
  const resend = async () => {
    const { link } = await post<{ link: string | null }>(`/members/invitations/${id}/resend`)
    if (link !== null) props.onLink(link)
    else toast.good(t.resent)
    await refresh(TEAM)
  }
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 px-5 py-3">
      <div className="min-w-0">
        <p className="flex flex-wrap items-center gap-2 font-medium wrap-anywhere">
          {email} <Badge>{roleNames[role]}</Badge> {isExpired && <Badge tone="wait">{t.expired}</Badge>}
        </p>
        <p className="text-sm text-soft wrap-anywhere">
          {t.invitedBy(invitedBy)}
          {!isExpired && (
            <>
              , {t.expires} <DateTime at={expiresAt} relative />
            </>
          )}
        </p>
      </div>
      {may('members:write') && (
        <div className="flex gap-2">
          <ActionButton size="small" onAction={resend}>
            {t.resend}
          </ActionButton>
          <Button size="small" onClick={props.onRevoke}>
            {t.revoke}
          </Button>
        </div>
      )}
    </li>
  )
}

function hasPassed(at: string): boolean {
  return Date.parse(at) <= Date.now()
}
