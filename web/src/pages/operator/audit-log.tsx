import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { AuditAction } from '../../base/codes.ts'
import { useCursorList } from '../../base/cursor-list.ts'
import { endOfDayIso, startOfDayIso } from '../../base/dates.ts'
import { useFilters } from '../../base/filters.ts'
import { words } from '../../base/language.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Facts } from '../../ui/card.tsx'
import { Copyable } from '../../ui/copy-button.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { DateFilter, FilterBar, SearchFilter, SelectFilter } from '../../ui/filter-bar.tsx'
import { LogIcon } from '../../ui/icons.tsx'
import { Page } from '../../ui/page.tsx'
import { Pagination } from '../../ui/pagination.tsx'
import { Empty, Table } from '../../ui/table.tsx'
import { useFieldName, useFieldValue, useSubject } from './audit-words.ts'
import { AccountLink, useActorText } from './names.tsx'
import type { LogEntry } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Auditoria',
    text: 'Quem fez o quê, quando e por quê. Nada aqui se altera ou se apaga.',
    actor: 'Quem (e-mail exato)',
    action: 'Qualquer ato',
    from: 'De',
    to: 'Até',
    onlyAccount: 'Só o que diz respeito a',
    at: 'Quando',
    who: 'Quem',
    what: 'O quê',
    why: 'Por quê',
    details: 'Detalhes',
    detailsOf: (action: string) => `Detalhes: ${action}`,
    subject: 'Sobre',
    account: 'Conta',
    key: 'Chave de API',
    changes: 'O que mudou',
    open: 'Abrir a exceção',
    empty: 'Nada registrado ainda',
    none: 'Nenhum registro assim',
    noneText: 'Mude os filtros para ver outros.',
    actions: {
      'account.created': 'Conta criada',
      'account.suspended': 'Conta suspensa',
      'account.resumed': 'Conta reativada',
      'account.terms_changed': 'Tarifa e limites alterados',
      'exception.opened': 'Exceção aberta',
      'exception.resolved': 'Exceção decidida',
      'exception.reopened': 'Exceção reaberta',
      'refund.requested': 'Devolução pedida',
      'reconcile.started': 'Conciliação iniciada',
      'history.seeded': 'Histórico de exemplo criado',
      'invitation.created': 'Convite criado',
      'invitation.revoked': 'Convite revogado',
      'key.created': 'Chave de API criada',
      'key.revoked': 'Chave de API revogada',
      'webhook.created': 'Webhook criado',
      'webhook.changed': 'Webhook alterado',
      'webhook.deleted': 'Webhook excluído',
      'webhook.disabled': 'Webhook desativado',
      'webhook.secret_rotated': 'Segredo de webhook trocado',
      'operator.created': 'Operador criado',
      'operator.enabled': 'Operador reativado',
      'operator.disabled': 'Operador desativado',
      'refund.ended': 'Devolução encerrada',
      'session.opened': 'Entrada no painel',
      'sessions.ended': 'Sessões encerradas',
      'password.changed': 'Senha trocada',
      'password.reset': 'Senha trocada por link',
      'password.set': 'Senha definida pelo operador',
      'email.confirmed': 'E-mail confirmado pelo operador',
      'second_factor.enabled': 'Duas etapas ativadas',
      'second_factor.disabled': 'Duas etapas desativadas',
      'second_factor.locked': 'Duas etapas bloqueadas por códigos errados',
      'recovery_codes.made': 'Códigos de recuperação criados',
      'recovery_code.used': 'Código de recuperação usado',
    } satisfies Record<AuditAction, string>,
  },
  en: {
    title: 'Audit log',
    text: 'Who did what, when and why. Nothing here is ever changed or deleted.',
    actor: 'Who (exact e-mail)',
    action: 'Any act',
    from: 'From',
    to: 'To',
    onlyAccount: 'Only what concerns',
    at: 'When',
    who: 'Who',
    what: 'What',
    why: 'Why',
    details: 'Details',
    detailsOf: (action: string) => `Details: ${action}`,
    subject: 'About',
    account: 'Account',
    key: 'API key',
    changes: 'What changed',
    open: 'Open the exception',
    empty: 'Nothing is recorded yet',
    none: 'No such entry',
    noneText: 'Change the filters to see others.',
    actions: {
      'account.created': 'Account created',
      'account.suspended': 'Account suspended',
      'account.resumed': 'Account resumed',
      'account.terms_changed': 'Fee and limits changed',
      'exception.opened': 'Exception opened',
      'exception.resolved': 'Exception decided',
      'exception.reopened': 'Exception opened again',
      'refund.requested': 'Refund asked for',
      'reconcile.started': 'Reconciliation started',
      'history.seeded': 'Example history made',
      'invitation.created': 'Invitation made',
      'invitation.revoked': 'Invitation revoked',
      'key.created': 'API key created',
      'key.revoked': 'API key revoked',
      'webhook.created': 'Webhook created',
      'webhook.changed': 'Webhook changed',
      'webhook.deleted': 'Webhook deleted',
      'webhook.disabled': 'Webhook disabled',
      'webhook.secret_rotated': 'Webhook secret rotated',
      'operator.created': 'Operator created',
      'operator.enabled': 'Operator enabled',
      'operator.disabled': 'Operator disabled',
      'refund.ended': 'Refund ended',
      'session.opened': 'Signed in',
      'sessions.ended': 'Sessions ended',
      'password.changed': 'Password changed',
      'password.reset': 'Password changed by link',
      'password.set': 'Password set by the operator',
      'email.confirmed': 'E-mail confirmed by the operator',
      'second_factor.enabled': 'Two steps turned on',
      'second_factor.disabled': 'Two steps turned off',
      'second_factor.locked': 'Two steps locked by wrong codes',
      'recovery_codes.made': 'Recovery codes made',
      'recovery_code.used': 'Recovery code used',
    } satisfies Record<AuditAction, string>,
  },
})

export function AuditLogPage() {
  const t = useWords()
  const actorText = useActorText()
  const actionText = useActionText()
  const filters = useFilters(['actor', 'action', 'accountId', 'from', 'to'])
  const whyText = useWhy()
  const [shown, setShown] = useState<LogEntry>()
  const { from, to, ...asked } = filters.values
  const list = useCursorList<LogEntry>({
    path: '/operator/audit-log',
    query: { ...asked, from: startOfDayIso(from), to: endOfDayIso(to) },
    rows: (answer: { entries: LogEntry[] }) => answer.entries,
  })
  return (
    <Page title={t.title} text={t.text}>
      <Card isFlush>
        <FilterBar filters={filters} hasDates>
          <SearchFilter filters={filters} name="actor" label={t.actor} />
          <SelectFilter
            filters={filters}
            name="action"
            label={t.action}
            choices={Object.entries(t.actions).map(([value, label]) => ({ value, label }))}
          />
          <DateFilter filters={filters} name="from" label={t.from} />
          <DateFilter filters={filters} name="to" label={t.to} />
        </FilterBar>
        {asked.accountId !== '' && (
          <p className="px-5 pb-4 text-sm text-soft">
            {t.onlyAccount} <AccountLink accountId={asked.accountId} />
          </p>
        )}
        <Table
          caption={t.title}
          columns={[
            { key: 'at', header: t.at, width: 'w-48', cell: (row) => <DateTime at={row.at} /> },
            {
              key: 'what',
              header: t.what,
              cell: (row) => <span className="font-medium">{actionText(row.action)}</span>,
            },
            {
              key: 'who',
              header: t.who,
              cell: (row) => <span className="wrap-anywhere">{actorText(`${row.actorKind} ${row.actor}`)}</span>,
            },
            {
              key: 'why',
              header: t.why,
              cell: (row) => <span className="wrap-anywhere">{whyText(row) ?? '–'}</span>,
            },
            {
              key: 'details',
              header: <span className="sr-only">{t.details}</span>,
              align: 'right',
              isActive: true,
              cell: (row) => (
                <Button size="small" aria-label={t.detailsOf(actionText(row.action))} onClick={() => setShown(row)}>
                  {t.details}
                </Button>
              ),
            },
          ]}
          rows={list.rows}
          rowKey={(row) => row.id}
          error={list.error}
          onRetry={list.retry}
          isStale={list.isStale}
          empty={
            <Empty
              title={filters.isFiltered ? t.none : t.empty}
              {...(filters.isFiltered && { text: t.noneText })}
              icon={<LogIcon className="size-6" />}
            />
          }
        />
        <Pagination list={list} />
      </Card>
      {shown && <EntryDialog entry={shown} onClose={() => setShown(undefined)} />}
    </Page>
  )
}

/** What people wrote stays as it is; what guiche did by itself has a code. */
function useWhy(): (entry: LogEntry) => string | null {
  const fieldValue = useFieldValue()
  return ({ reason, details }) =>
    typeof details['reasonCode'] === 'string' ? fieldValue('reasonCode', details['reasonCode']) : reason
}

function useActionText(): (action: string) => string {
  const actions: Readonly<Record<string, string>> = useWords().actions
  return (action) => actions[action] ?? action
}

function EntryDialog({ entry, onClose }: { entry: LogEntry; onClose: () => void }) {
  const t = useWords()
  const actorText = useActorText()
  const actionText = useActionText()
  const whyText = useWhy()
  const subject = useSubject()(entry.subject)
  return (
    <Dialog isOpen isWide onClose={onClose} title={actionText(entry.action)}>
      <Facts
        facts={[
          { name: t.at, value: <DateTime at={entry.at} /> },
          { name: t.who, value: actorText(`${entry.actorKind} ${entry.actor}`) },
          { name: t.why, value: whyText(entry) },
          {
            name: t.subject,
            value:
              subject.kind === 'exception' ? (
                <Link to="/operator/exceptions/$exceptionId" params={{ exceptionId: subject.id }} className="link">
                  {t.open}
                </Link>
              ) : (
                <>
                  {subject.name} <Copyable text={subject.id} />
                </>
              ),
          },
          { name: t.account, value: entry.accountId === null ? null : <AccountLink accountId={entry.accountId} /> },
          { name: t.key, value: entry.keyId === null ? null : <Copyable text={entry.keyId} /> },
        ]}
      />
      <Details details={entry.details} />
    </Dialog>
  )
}

/** Before and after side by side, where there are both. */
function Details({ details }: { details: LogEntry['details'] }) {
  const t = useWords()
  const fieldName = useFieldName()
  const fieldValue = useFieldValue()
  // The reason stands above.
  const { before, after, reasonCode: _, ...rest } = details
  const [old, fresh] = [fieldsOf(before), fieldsOf(after)]
  const changed = Object.keys({ ...old, ...fresh }).map((field) => ({
    name: fieldName(field),
    value: (
      <>
        {fieldValue(field, old[field])} → <b>{fieldValue(field, fresh[field])}</b>
      </>
    ),
  }))
  const told = Object.entries(rest).filter(([, value]) => value !== null)
  const others = told.map(([field, value]) => ({
    name: fieldName(field),
    value: <span className="wrap-anywhere">{fieldValue(field, value)}</span>,
  }))
  const facts = [...changed, ...others]
  if (facts.length === 0) return null
  return (
    <>
      <h3 className="mt-6 mb-2 font-semibold">{t.changes}</h3>
      <div className="rounded-lg bg-code-ground px-4 py-3 text-sm">
        <Facts facts={facts} />
      </div>
    </>
  )
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
