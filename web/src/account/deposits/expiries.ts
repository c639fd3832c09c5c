import { durationText } from '../../base/dates.ts'
import { useLanguage } from '../../base/language.ts'
import { useService } from '../../base/session.ts'

// In seconds, within the server's limits.
const EXPIRIES = [300, 900, 1_800, 3_600, 21_600, 86_400, 259_200, 604_800, 1_296_000, 2_592_000]

/** How long a deposit can be paid. The first choice leaves it to the service. */
export function useExpiryChoices(byDefault: (duration: string) => string): { value: string; label: string }[] {
  const language = useLanguage()
  const { chargeExpiresSeconds, chargeMaxExpiresSeconds } = useService()
  const durations = EXPIRIES.filter((seconds) => seconds <= chargeMaxExpiresSeconds)
  return [
    { value: '', label: byDefault(durationText(chargeExpiresSeconds, language)) },
    ...durations.map((seconds) => ({ value: String(seconds), label: durationText(seconds, language) })),
  ]
}
