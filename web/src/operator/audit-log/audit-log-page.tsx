import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { endOfDayIso, startOfDayIso } from '../../base/dates.ts'
import { useCursorList, useFilters } from '../../base/queries.ts'
import { translations } from '../../base/language.ts'
import type { AuditLogEntry } from '../../contract/types.ts'
import { Button } from '../../ui/button.tsx'
import { Card, DetailList, Empty, Page } from '../../ui/page.tsx'
import { Copyable, DateTime } from '../../ui/data/values.tsx'
import { FilterBar } from '../../ui/data/filter-bar.tsx'
import { Table, type Column } from '../../ui/data/table.tsx'
import { Dialog } from '../../ui/form/dialog.tsx'
import { LogIcon } from '../../ui/icons.tsx'
import { AccountLink, useActorText } from '../labels.tsx'
import { useActionChoices, useActionText, useFieldName, useFieldValue, useSubject } from './audit-labels.ts'

const useTexts = translations({
  title: ['Auditoria', 'Audit log'],
  text: [
    'Quem fez o quê, quando e por quê. Nada aqui é alterado ou apagado.',
    'Who did what, when and why. Entries are never changed or deleted.',
  ],
  actor: ['Quem (e-mail completo)', 'Actor (full email)'],
  action: ['Todas as ações', 'All actions'],
  onlyAccount: ['Somente a conta', 'Only account'],
  at: ['Quando', 'When'],
  who: ['Quem', 'Who'],
  what: ['O quê', 'What'],
  why: ['Por quê', 'Why'],
  details: ['Detalhes', 'Details'],
  detailsOf: (action: string) => [`Detalhes: ${action}`, `Details: ${action}`],
  subject: ['Sobre', 'Subject'],
  account: ['Conta', 'Account'],
  key: ['Chave de API', 'API key'],
  changes: ['Mudanças', 'Changes'],
  open: ['Ver exceção', 'View exception'],
  empty: ['Nada registrado ainda', 'No entries yet'],
  none: ['Nenhum registro encontrado', 'No entries found'],
  noneText: ['Mude os filtros para ver outros.', 'Change the filters to see others.'],
})

export function AuditLogPage() {
  const t = useTexts()
  const filters = useFilters(['actor', 'action', 'accountId', 'from', 'to'])
  const [shown, setShown] = useState<AuditLogEntry>()
  const { from, to, ...asked } = filters.values
  const list = useCursorList<AuditLogEntry>({
    path: '/operator/audit-log',
    query: { ...asked, from: startOfDayIso(from), to: endOfDayIso(to) },
    field: 'entries',
  })
  return (
    <Page title={t.title} text={t.text}>
      <Card isFlush>
        <FilterBar
          filters={filters}
          search={{ name: 'actor', label: t.actor }}
          selects={[{ name: 'action', label: t.action, choices: useActionChoices() }]}
        />
        {asked.accountId !== '' && (
          <p className="px-5 pb-4 text-sm text-soft">
            {t.onlyAccount} <AccountLink accountId={asked.accountId} />
          </p>
        )}
        <Table
          caption={t.title}
          columns={useColumns(setShown)}
          list={list}
          rowKey={(row) => row.id}
          empty={
            <Empty
              title={filters.isFiltered ? t.none : t.empty}
              text={filters.isFiltered && t.noneText}
              icon={LogIcon}
            />
          }
        />
      </Card>
      {shown && <EntryDialog entry={shown} onClose={() => setShown(undefined)} />}
    </Page>
  )
}

function useColumns(onShow: (entry: AuditLogEntry) => void): Column<AuditLogEntry>[] {
  const t = useTexts()
  const actorText = useActorText()
  const actionText = useActionText()
  const whyText = useWhy()
  return [
    { header: t.at, width: 'w-48', cell: (row) => <DateTime at={row.at} /> },
    { header: t.what, cell: (row) => <span className="font-medium">{actionText(row.action)}</span> },
    {
      header: t.who,
      cell: (row) => <span className="wrap-anywhere">{actorText(`${row.actorKind} ${row.actor}`)}</span>,
    },
    { header: t.why, cell: (row) => <span className="wrap-anywhere">{whyText(row) ?? '–'}</span> },
    {
      header: <span className="sr-only">{t.details}</span>,
      align: 'right',
      isActive: true,
      cell: (row) => (
        <Button size="small" aria-label={t.detailsOf(actionText(row.action))} onClick={() => onShow(row)}>
          {t.details}
        </Button>
      ),
    },
  ]
}

/** Shows reasons of people as they were written; automatic reasons have a code. */
function useWhy(): (entry: AuditLogEntry) => string | null {
  const fieldValue = useFieldValue()
  return ({ reason, details }) =>
    typeof details['reasonCode'] === 'string' ? fieldValue('reasonCode', details['reasonCode']) : reason
}

function EntryDialog({ entry, onClose }: { entry: AuditLogEntry; onClose: () => void }) {
  const t = useTexts()
  const actorText = useActorText()
  const actionText = useActionText()
  const whyText = useWhy()
  const subject = useSubject()(entry.subject)
  return (
    <Dialog isWide onClose={onClose} title={actionText(entry.action)}>
      <DetailList
        details={[
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

/** Shows before and after side by side, where there are both. */
function Details({ details }: { details: AuditLogEntry['details'] }) {
  const t = useTexts()
  const fieldName = useFieldName()
  const fieldValue = useFieldValue()
  // The reason is shown above.
  const { before, after, reasonCode: _, ...rest } = details
  const [old, updated] = [fieldsOf(before), fieldsOf(after)]
  const changed = Object.keys({ ...old, ...updated }).map((field) => ({
    name: fieldName(field),
    value: (
      <>
        {fieldValue(field, old[field])} → <b>{fieldValue(field, updated[field])}</b>
      </>
    ),
  }))
  const given = Object.entries(rest).filter(([, value]) => value !== null)
  const others = given.map(([field, value]) => ({
    name: fieldName(field),
    value: <span className="wrap-anywhere">{fieldValue(field, value)}</span>,
  }))
  const all = [...changed, ...others]
  if (all.length === 0) return null
  return (
    <>
      <h3 className="mt-6 mb-2 font-semibold">{t.changes}</h3>
      <div className="rounded-lg bg-code-ground px-4 py-3 text-sm">
        <DetailList details={all} />
      </div>
    </>
  )
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
