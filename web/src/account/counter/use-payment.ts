import { useEffect, useRef, useState } from 'react'
import { get } from '../../base/api.ts'
import { noteAnswer, noteSilence } from '../../base/connection.ts'
import { useLanguage } from '../../base/language.ts'
import type { PaymentData } from '../../contract/types.ts'
import { followPayment, type Following } from '../../deposits/follow-payment.ts'
import type { MadeSale } from './till.ts'

/** A second payment, or that of a canceled charge, may come when it has ended. */
const LOOK_AGAIN_MS = 15_000
/** A screen that nobody left in ten minutes is not looked at. */
const MAX_LOOKS_AGAIN = 40
const TICK_MS = 1_000

export type Payment = {
  /** Undefined until the first answer. */
  data: PaymentData | undefined
  secondsLeft: number | undefined
  isMissing: boolean
  /** Asks the bank, and then shows what is known. */
  check: () => Promise<void>
}

type Known = { data: PaymentData; endsAtMs: number } | 'missing' | undefined

/** The state of a charge, as the payment page knows it. */
export function usePayment({ charge: { paymentLinkId }, isNew }: MadeSale): Payment {
  const language = useLanguage()
  const [known, setKnown] = useState<Known>()
  const watching = useRef<Watching>(undefined)
  useEffect(() => {
    watching.current = watch({ paymentLinkId, language, isNew }, setKnown)
    return watching.current.stop
  }, [paymentLinkId, language, isNew])
  const nowMs = useNowMs()
  const { data, endsAtMs } = known === undefined || known === 'missing' ? {} : known
  return {
    data,
    secondsLeft: endsAtMs === undefined ? undefined : Math.max(0, Math.floor((endsAtMs - nowMs) / 1000)),
    isMissing: known === 'missing',
    check: async () => watching.current?.check(),
  }
}

type Watching = { check(): Promise<void>; stop(): void }
type Watched = { paymentLinkId: string; language: string; isNew: boolean }

function watch({ paymentLinkId, language, isNew }: Watched, tell: (known: Known) => void): Watching {
  const stopped = new AbortController()
  const { signal } = stopped
  let following: Following
  let timer: ReturnType<typeof setTimeout> | undefined
  let hasEnded = false
  let looksAgain = 0

  function follow(): void {
    following = followPayment(`/payment-link/${paymentLinkId}`, language, {
      told({ payment }) {
        noteAnswer()
        hasEnded = payment.status !== 'PENDING'
        if (hasEnded && looksAgain < MAX_LOOKS_AGAIN) timer = setTimeout(followAgain, LOOK_AGAIN_MS)
        // By the server's clock: that of a phone may be wrong.
        const leftMs = Date.parse(payment.expiresAt) - Date.parse(payment.serverNow)
        tell({ data: payment, endsAtMs: Date.now() + leftMs })
      },
      missing: () => tell('missing'),
      failed: noteSilence,
    })
  }

  /** What has ended is not followed any more. */
  function followAgain(): void {
    clearTimeout(timer)
    looksAgain += 1
    following.stop()
    follow()
  }

  async function check(): Promise<void> {
    // A cashier asks the bank about charges of today only. The page of the payer tells of all.
    await get(`/deposit/${paymentLinkId}`, {}, { signal }).catch(() => undefined)
    if (signal.aborted) return
    if (hasEnded) followAgain()
    else await following.look()
  }

  const checkIfVisible = () => {
    if (!document.hidden) void check()
  }
  follow()
  if (!isNew) checkIfVisible()
  addEventListener('online', checkIfVisible, { signal })
  document.addEventListener('visibilitychange', checkIfVisible, { signal })
  return {
    check,
    stop() {
      stopped.abort()
      clearTimeout(timer)
      following.stop()
    },
  }
}

function useNowMs(): number {
  const [nowMs, setNowMs] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  return nowMs
}

/** `1:05:09`, or `05:09`. */
export function leftText(seconds: number): string {
  const two = (part: number) => String(part).padStart(2, '0')
  const hours = Math.floor(seconds / 3600)
  return `${hours > 0 ? `${hours}:` : ''}${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
}
