import { translations } from '../../base/language.ts'
import { EVENT_NAMES } from '../../contract/events.ts'

const useNames = translations(EVENT_NAMES)

/** The name of an event; a kind this page does not know yet is shown as it is. */
export function useEventName(): (event: string) => string {
  const names: Readonly<Record<string, string>> = useNames()
  return (event) => names[event] ?? event
}
