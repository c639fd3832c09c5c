import { useLostSince } from '../base/connection.ts'
import { timeText } from '../base/dates.ts'
import { translations, useLanguage } from '../base/language.ts'
import { WarningIcon } from './icons.tsx'

const useTexts = translations({
  lost: (time: string) => [`Sem conexão, dados de ${time}`, `No connection, data from ${time}`],
})

/** The page keeps what it has while the server is out of reach, so it says how old that is. */
export function ConnectionBar() {
  const t = useTexts()
  const language = useLanguage()
  const lostSince = useLostSince()
  return (
    <div role="status" className="sticky top-0 z-30">
      {lostSince !== undefined && (
        <p className="figures flex items-center justify-center gap-2 bg-wait-ground px-4 py-1.5 text-sm font-semibold text-wait">
          <WarningIcon className="size-4" />
          {t.lost(timeText(new Date(lostSince).toISOString(), language))}
        </p>
      )}
    </div>
  )
}
