import { useEffect, useState } from 'react'
import { dateTimeText, preciseText, relativeText } from '../base/dates.ts'
import { useLanguage } from '../base/language.ts'

/** Relative times are said anew this often. */
const TICK_MS = 30_000

/** A moment; to the second and with its zone as the title. */
export function DateTime({ at, relative = false }: { at: string; relative?: boolean }) {
  const language = useLanguage()
  return (
    <time dateTime={at} title={preciseText(at, language)} className="figures whitespace-nowrap">
      {relative ? <Relative at={at} /> : dateTimeText(at, language)}
    </time>
  )
}

function Relative({ at }: { at: string }) {
  const language = useLanguage()
  const [nowMs, setNowMs] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  return relativeText(at, language, nowMs)
}
