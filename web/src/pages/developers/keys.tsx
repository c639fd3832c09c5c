import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { del, get } from '../../base/api.ts'
import { words } from '../../base/language.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { KeyIcon, PlusIcon } from '../../ui/icons.tsx'
import { Empty, Table, type Column } from '../../ui/table.tsx'
import { toast } from '../../ui/toast.tsx'
import { NewKey } from './new-key.tsx'
import { SCOPES, type Key } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Chaves de API',
    text: 'Uma para cada sistema, para que possa revogar uma sem parar os outros.',
    create: 'Criar chave',
    name: 'Nome',
    scopes: 'Permissões',
    full: 'Todas',
    created: 'Criada',
    lastUsed: 'Último uso',
    never: 'Nunca',
    expires: 'Expira',
    neverExpires: 'Não expira',
    actions: 'Ações',
    revoke: 'Revogar',
    revokeOf: (name: string) => `Revogar ${name}`,
    revoked: 'Revogada',
    expired: 'Expirada',
    soon: 'Expira em breve',
    emptyTitle: 'Nenhuma chave ainda',
    emptyText: 'Crie uma chave para pedir o primeiro depósito pela API.',
    noneWork: 'Nenhuma chave em uso',
    showOld: (count: number) =>
      count === 1 ? 'Mostrar 1 chave que não vale mais' : `Mostrar ${count} que não valem mais`,
    hideOld: 'Ocultar as que não valem mais',
    sureTitle: (name: string) => `Revogar a chave ${name}?`,
    sureText: 'Em dois segundos, todo pedido com ela é recusado. Não há como desfazer.',
    done: 'Chave revogada.',
  },
  en: {
    title: 'API keys',
    text: 'One for each system, so that you can revoke one and not stop the others.',
    create: 'Create a key',
    name: 'Name',
    scopes: 'Scopes',
    full: 'All',
    created: 'Created',
    lastUsed: 'Last used',
    never: 'Never',
    expires: 'Expires',
    neverExpires: 'Does not expire',
    actions: 'Actions',
    revoke: 'Revoke',
    revokeOf: (name: string) => `Revoke ${name}`,
    revoked: 'Revoked',
    expired: 'Expired',
    soon: 'Expires soon',
    emptyTitle: 'No key yet',
    emptyText: 'Create a key to ask for the first deposit by the API.',
    noneWork: 'No key in use',
    showOld: (count: number) => (count === 1 ? 'Show 1 key that no longer works' : `Show ${count} that no longer work`),
    hideOld: 'Hide those that no longer work',
    sureTitle: (name: string) => `Revoke the key ${name}?`,
    sureText: 'Within two seconds every request with it is refused. This cannot be undone.',
    done: 'The key is revoked.',
  },
})

/** As the overview, which says so too. */
const SOON_MS = 14 * 24 * 3_600_000

export function Keys() {
  const t = useWords()
  const queryClient = useQueryClient()
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Key | null>(null)
  const [isOldShown, setOldShown] = useState(false)
  const keys = useQuery({
    queryKey: ['keys'],
    queryFn: ({ signal }) => get<{ keys: Key[] }>('/keys', {}, { signal }),
  })
  const all = keys.data?.keys
  const working = all?.filter((key) => stateOf(key) !== 'revoked' && stateOf(key) !== 'expired')
  const oldCount = all && working ? all.length - working.length : 0
  const create = (
    <Button kind="primary" onClick={() => setCreating(true)}>
      <PlusIcon className="size-4" />
      {t.create}
    </Button>
  )
  return (
    <Card isFlush text={t.text} actions={create}>
      <Table
        caption={t.title}
        columns={useColumns(setRevoking)}
        rows={isOldShown ? all : working}
        rowKey={(key) => key.keyId}
        error={keys.error}
        onRetry={() => void keys.refetch()}
        skeletonRows={3}
        empty={
          <Empty
            icon={<KeyIcon className="size-6" />}
            title={oldCount > 0 ? t.noneWork : t.emptyTitle}
            text={t.emptyText}
          />
        }
      />
      {oldCount > 0 && (
        <div className="border-t border-line px-3 py-2">
          <Button kind="quiet" size="small" aria-expanded={isOldShown} onClick={() => setOldShown(!isOldShown)}>
            {isOldShown ? t.hideOld : t.showOld(oldCount)}
          </Button>
        </div>
      )}
      {isCreating && <NewKey onClose={() => setCreating(false)} />}
      {revoking && (
        <ConfirmDialog
          isOpen
          isDanger
          onClose={() => setRevoking(null)}
          title={t.sureTitle(revoking.name)}
          text={t.sureText}
          action={t.revoke}
          onConfirm={async () => {
            await del(`/keys/${revoking.keyId}`)
            toast.good(t.done)
            await queryClient.invalidateQueries({ queryKey: ['keys'] })
          }}
        />
      )}
    </Card>
  )
}

function useColumns(onRevoke: (key: Key) => void): Column<Key>[] {
  const t = useWords()
  return [
    { key: 'name', header: t.name, cell: (key) => <Name apiKey={key} /> },
    { key: 'scopes', header: t.scopes, width: 'w-44', cell: (key) => <Scopes scopes={key.scopes} /> },
    {
      key: 'created',
      header: t.created,
      isWideOnly: true,
      width: 'w-44',
      cell: (key) => <DateTime at={key.createdAt} relative />,
    },
    {
      key: 'lastUsed',
      header: t.lastUsed,
      width: 'w-44',
      cell: (key) =>
        key.lastUsedAt ? <DateTime at={key.lastUsedAt} relative /> : <span className="text-soft">{t.never}</span>,
    },
    {
      key: 'expires',
      header: t.expires,
      width: 'w-44',
      cell: (key) =>
        key.expiresAt ? <DateTime at={key.expiresAt} relative /> : <span className="text-soft">{t.neverExpires}</span>,
    },
    {
      key: 'actions',
      header: <span className="sr-only">{t.actions}</span>,
      align: 'right',
      width: 'w-32',
      cell: (key) => (
        <Button
          size="small"
          aria-label={t.revokeOf(key.name)}
          className={stateOf(key) === 'revoked' ? 'invisible' : ''}
          onClick={() => onRevoke(key)}
        >
          {t.revoke}
        </Button>
      ),
    },
  ]
}

function Name({ apiKey }: { apiKey: Key }) {
  const t = useWords()
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
  const t = useWords()
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
