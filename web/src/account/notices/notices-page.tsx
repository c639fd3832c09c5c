import { useEffect } from 'react'
import { post } from '../../base/api.ts'
import { translations, useLanguage } from '../../base/language.ts'
import { refresh, useCursorList } from '../../base/queries.ts'
import type { Notice } from '../../contract/types.ts'
import { Badge } from '../../ui/badge.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { Table, type Column } from '../../ui/data/table.tsx'
import { BellIcon } from '../../ui/icons.tsx'
import { Card, Empty, Page } from '../../ui/page.tsx'
import { useNoticePath } from './notices.ts'

const useTexts = translations({
  title: ['Avisos', 'Notices'],
  text: [
    'O que precisa de alguém, e o que aconteceu. O mesmo chega por e-mail.',
    'What needs somebody, and what happened. The same comes by e-mail.',
  ],
  choose: ['Escolher e-mails', 'Choose e-mails'],
  what: ['Aviso', 'Notice'],
  state: ['Situação', 'State'],
  at: ['Quando', 'When'],
  states: { began: ['Em aberto', 'Open'], ended: ['Resolvido', 'Over'], news: ['Aviso', 'News'] },
  empty: ['Nada a avisar', 'Nothing to tell'],
  emptyText: ['Quando algo precisar de você, aparece aqui.', 'When something needs you, it appears here.'],
})

const TONES = { began: 'wait', ended: 'good', news: 'still' } as const

export function NoticesPage() {
  const t = useTexts()
  const path = useNoticePath()
  const list = useCursorList<Notice>({ path, query: { language: useLanguage() }, field: 'notices' })
  useSeen(path, list.rows)
  return (
    <Page title={t.title} text={t.text} actions={<ButtonLink to="/settings">{t.choose}</ButtonLink>}>
      <Card isFlush>
        <Table
          caption={t.title}
          columns={useColumns()}
          list={list}
          rowKey={(row) => String(row.number)}
          rowLink={(row) => row.path}
          card={(row) => <NoticeCard row={row} />}
          empty={<Empty title={t.empty} text={t.emptyText} icon={BellIcon} />}
        />
      </Card>
    </Page>
  )
}

/** Who has the list open has seen what is in it. */
function useSeen(path: string, rows: readonly Notice[] | undefined): void {
  const newest = rows?.find(({ isSeen }) => !isSeen)?.number
  useEffect(() => {
    if (newest !== undefined)
      void post(`${path}/seen`, { number: newest }).then(
        () => refresh(['notices']),
        () => {},
      )
  }, [path, newest])
}

function NoticeCard({ row }: { row: Notice }) {
  const t = useTexts()
  return (
    <div className="space-y-1.5">
      <p className={row.isSeen ? '' : 'font-semibold'}>{row.text}</p>
      <p className="flex items-center gap-2 text-sm text-soft">
        <Badge tone={TONES[row.what]}>{t.states[row.what]}</Badge>
        <DateTime at={row.happenedAt} isShort />
      </p>
    </div>
  )
}

function useColumns(): readonly Column<Notice>[] {
  const t = useTexts()
  return [
    { header: t.what, cell: (row) => row.text, isProse: true },
    { header: t.state, width: 'w-32', cell: (row) => <Badge tone={TONES[row.what]}>{t.states[row.what]}</Badge> },
    { header: t.at, width: 'w-44', cell: (row) => <DateTime at={row.happenedAt} /> },
  ]
}
