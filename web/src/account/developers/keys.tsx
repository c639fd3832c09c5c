import { useState } from 'react'
import { del } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { useGet } from '../../base/queries.ts'
import { useMay } from '../../base/session.ts'
import { SCOPES } from '../../contract/codes.ts'
import type { Key } from '../../contract/types.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button, DialogButton } from '../../ui/button.tsx'
import { Card, Empty } from '../../ui/page.tsx'
import { Table, type Column } from '../../ui/data/table.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { ConfirmDialog } from '../../ui/form/form-dialog.tsx'
import { KeyIcon, PlusIcon } from '../../ui/icons.tsx'
import { NewKey } from './new-key.tsx'

const useTexts = translations({
  title: ['Chaves de API', 'API keys'],
  text: [
    'Use uma chave por sistema, para poder revogar uma sem parar os outros.',
    'Use one key per system, so you can revoke one without stopping the others.',
  ],
  create: ['Criar chave', 'Create key'],
  name: ['Nome', 'Name'],
  scopes: ['Permissões', 'Permissions'],
  full: ['Todas', 'All'],
  created: ['Criada', 'Created'],
  lastUsed: ['Último uso', 'Last used'],
  never: ['Nunca', 'Never'],
  expires: ['Expira', 'Expires'],
  neverExpires: ['Nunca', 'Never'],
  actions: ['Ações', 'Actions'],
  revoke: ['Revogar', 'Revoke'],
  revokeOf: (name: string) => [`Revogar ${name}`, `Revoke ${name}`],
  revoked: ['Revogada', 'Revoked'],
  expired: ['Expirada', 'Expired'],
  soon: ['Expira em breve', 'Expires soon'],
  emptyTitle: ['Nenhuma chave ainda', 'No API keys yet'],
  emptyText: [
    'Crie uma chave para criar seu primeiro depósito pela API.',
    'Create a key to make your first deposit through the API.',
  ],
  noneWork: ['Nenhuma chave ativa', 'No active keys'],
  showOld: (count: number) => [
    count === 1 ? 'Mostrar 1 chave inativa' : `Mostrar ${count} chaves inativas`,
    count === 1 ? 'Show 1 inactive key' : `Show ${count} inactive keys`,
  ],
  hideOld: ['Ocultar chaves inativas', 'Hide inactive keys'],
  sureTitle: (name: string) => [`Revogar a chave ${name}?`, `Revoke key ${name}?`],
  sureText: [
    'Em dois segundos, toda requisição com ela será recusada. Não dá para desfazer.',
    'Requests with this key are rejected within two seconds. This cannot be undone.',
  ],
  done: ['Chave revogada.', 'Key revoked.'],
})

/** The overview uses the same limit. */
const SOON_MS = 14 * 24 * 3_600_000

export function Keys() {
  const t = useTexts()
  const [revoking, setRevoking] = useState<Key | null>(null)
  const [isOldShown, setOldShown] = useState(false)
  const keys = useGet<{ keys: Key[] }>(['keys'], '/keys')
  const all = keys.data?.keys
  const working = all?.filter((key) => stateOf(key) !== 'revoked' && stateOf(key) !== 'expired')
  const oldCount = all && working ? all.length - working.length : 0
  const may = useMay()
  const create = may('keys:write') && (
    <DialogButton icon={PlusIcon} kind="primary" opensBy="new" dialog={(onClose) => <NewKey onClose={onClose} />}>
      {t.create}
    </DialogButton>
  )
  return (
    <Card isFlush text={t.text} actions={create}>
      <Table
        caption={t.title}
        columns={useColumns(setRevoking)}
        list={{ rows: isOldShown ? all : working, error: keys.error, retry: () => void keys.refetch() }}
        rowKey={(key) => key.keyId}
        skeletonRows={3}
        empty={<Empty icon={KeyIcon} title={oldCount > 0 ? t.noneWork : t.emptyTitle} text={t.emptyText} />}
      />
      {oldCount > 0 && (
        <div className="border-t border-line px-3 py-2">
          <Button kind="quiet" size="small" aria-expanded={isOldShown} onClick={() => setOldShown(!isOldShown)}>
            {isOldShown ? t.hideOld : t.showOld(oldCount)}
          </Button>
        </div>
      )}
      {revoking && (
        <ConfirmDialog
          isDanger
          onClose={() => setRevoking(null)}
          title={t.sureTitle(revoking.name)}
          text={t.sureText}
          action={t.revoke}
          onSend={() => del(`/keys/${revoking.keyId}`)}
          done={t.done}
          refreshes={[['keys']]}
        />
      )}
    </Card>
  )
}

function useColumns(onRevoke: (key: Key) => void): Column<Key>[] {
  const t = useTexts()
  const may = useMay()
  return [
    { header: t.name, cell: (key) => <Name apiKey={key} /> },
    { header: t.scopes, width: 'w-44', cell: (key) => <Scopes scopes={key.scopes} /> },
    {
      header: t.created,
      isWideOnly: true,
      width: 'w-44',
      cell: (key) => (
        <span className="flex flex-col max-md:items-end">
          <DateTime at={key.createdAt} relative />
          {key.madeBy !== null && <span className="text-sm text-soft wrap-anywhere">{key.madeBy}</span>}
        </span>
      ),
    },
    {
      header: t.lastUsed,
      width: 'w-44',
      cell: (key) =>
        key.lastUsedAt ? <DateTime at={key.lastUsedAt} relative /> : <span className="text-soft">{t.never}</span>,
    },
    {
      header: t.expires,
      width: 'w-44',
      cell: (key) =>
        key.expiresAt ? <DateTime at={key.expiresAt} relative /> : <span className="text-soft">{t.neverExpires}</span>,
    },
    {
      header: <span className="sr-only">{t.actions}</span>,
      align: 'right',
      width: 'w-32',
      cell: (key) => (
        <Button
          size="small"
          aria-label={t.revokeOf(key.name)}
          className={stateOf(key) === 'revoked' || !may('keys:write') ? 'invisible' : ''}
          onClick={() => onRevoke(key)}
        >
          {t.revoke}
        </Button>
      ),
    },
  ]
}

function Name({ apiKey }: { apiKey: Key }) {
  const t = useTexts()
  const state = stateOf(apiKey)
  return (
    <span className="flex flex-col gap-0.5 max-md:items-end">
      <span className="font-medium wrap-anywhere">{apiKey.name}</span>
      <span className="flex flex-wrap items-center gap-2">
        <code className="font-mono text-[0.8125rem] text-soft">{apiKey.prefix}…</code>
        {state === 'revoked' && <Badge>{t.revoked}</Badge>}
        {state === 'expired' && <Badge tone="bad">{t.expired}</Badge>}
        {state === 'soon' && <Badge tone="wait">{t.soon}</Badge>}
      </span>
    </span>
  )
}

function Scopes({ scopes }: { scopes: readonly string[] }) {
  const t = useTexts()
  if (SCOPES.every((scope) => scopes.includes(scope))) return t.full
  return (
    <span className="flex flex-col font-mono text-[0.8125rem] max-md:items-end">
      {scopes.map((scope) => (
        <code key={scope}>{scope}</code>
      ))}
    </span>
  )
}

function stateOf(key: Key): 'revoked' | 'expired' | 'soon' | 'works' {
  if (key.revokedAt) return 'revoked'
  if (!key.expiresAt) return 'works'
  const leftMs = Date.parse(key.expiresAt) - Date.now()
  if (leftMs <= 0) return 'expired'
  return leftMs < SOON_MS ? 'soon' : 'works'
}
