import { Link } from '@tanstack/react-router'
import { translations } from '../../base/language.ts'
import { BellIcon } from '../../ui/icons.tsx'
import { useNotices } from './notices.ts'

const useTexts = translations({
  none: ['Avisos', 'Notices'],
  some: (count: number) => [`Avisos: ${count} ${count === 1 ? 'não lido' : 'não lidos'}`, `Notices: ${count} unread`],
})

/** A number above this says as much as any greater one. */
const MOST = 99

export function Bell() {
  const t = useTexts()
  const unseen = useNotices().data?.unseen ?? 0
  const label = unseen === 0 ? t.none : t.some(unseen)
  return (
    <Link
      to="/notices"
      aria-label={label}
      title={label}
      className="relative ml-auto grid size-10 place-items-center rounded-lg text-soft hover:bg-hover hover:text-ink"
      activeProps={{ className: 'text-good!' }}
    >
      <BellIcon />
      {unseen > 0 && (
        <span className="figures absolute top-0.5 right-0 min-w-5 rounded-full bg-bad px-1 text-center text-xs leading-5 font-semibold text-card">
          {unseen >= MOST ? `${MOST}+` : unseen}
        </span>
      )}
    </Link>
  )
}
