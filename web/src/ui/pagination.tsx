import { words } from '../base/language.ts'
import type { CursorList } from '../base/cursor-list.ts'
import { Button } from './button.tsx'

const useWords = words({
  'pt-BR': { label: 'Páginas', previous: 'Anterior', next: 'Próxima', page: (number: number) => `Página ${number}` },
  en: { label: 'Pages', previous: 'Previous', next: 'Next', page: (number: number) => `Page ${number}` },
})

/** Below a list of useCursorList; nothing where one page is all there is. */
export function Pagination({ list }: { list: CursorList<unknown> }) {
  const t = useWords()
  if (list.pageNumber === 1 && !list.next && !list.isFetching) return null
  if (list.rows === undefined || list.rows.length === 0) return null
  return (
    <nav aria-label={t.label} className="flex items-center justify-between gap-3 border-t border-line px-5 py-3">
      <span aria-live="polite" className="figures text-sm text-soft">
        {t.page(list.pageNumber)}
      </span>
      <div className="flex gap-2">
        <Button size="small" disabled={!list.previous} onClick={list.previous}>
          {t.previous}
        </Button>
        <Button size="small" disabled={!list.next} onClick={list.next}>
          {t.next}
        </Button>
      </div>
    </nav>
  )
}
