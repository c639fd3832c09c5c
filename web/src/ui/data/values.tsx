import { useEffect, useState } from 'react'
import { dateTimeText, preciseText, relativeText, shortDateTimeText } from '../../base/dates.ts'
import { useLanguage } from '../../base/language.ts'
import { moneyText } from '../../base/money.ts'

/** Cents as money. `sign`: with + or −, for movements. */
export function Money({ cents, sign = false, className = '' }: { cents: number; sign?: boolean; className?: string }) {
  return <span className={`figures whitespace-nowrap ${className}`}>{moneyText(cents, useLanguage(), { sign })}</span>
}

/** How often relative times are updated. */
const TICK_MS = 30_000

/** A time. Its title has the seconds and the zone. `isShort`: without the current year, for cards. */
export function DateTime({ at, relative, isShort }: { at: string; relative?: boolean; isShort?: boolean }) {
  const language = useLanguage()
  return (
    <time dateTime={at} title={preciseText(at, language)} className="figures whitespace-nowrap">
      {relative ? <Relative at={at} /> : isShort ? shortDateTimeText(at, language) : dateTimeText(at, language)}
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
