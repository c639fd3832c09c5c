import { useGet } from '../../base/queries.ts'
import { useLanguage } from '../../base/language.ts'
import { useMe } from '../../base/session.ts'
import type { Notice } from '../../contract/types.ts'

// The stream does not tell of notices: they are written some seconds after it told of their event, or with no event.
const READ_EVERY_MS = 30_000

type NoticePage = { notices: Notice[]; unseen: number; nextCursor: string | null }

/** Who only takes deposits is told nothing. */
export function useHasNotices(): boolean {
  const { kind, scopes } = useMe()
  return kind === 'operator' || scopes.includes('deposits:read')
}

/** Of this person: operators and account holders have their own. */
export function useNoticePath(): string {
  return useMe().kind === 'operator' ? '/operator/notices' : '/notices'
}

export function useNotices() {
  const path = useNoticePath()
  const language = useLanguage()
  return useGet<NoticePage>(['notices', language], path, { query: { language }, refetchInterval: READ_EVERY_MS })
}
