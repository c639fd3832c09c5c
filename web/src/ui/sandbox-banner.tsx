import { translations } from '../base/language.ts'
import { useService } from '../base/session.ts'

const useTexts = translations({
  label: ['Ambiente', 'Environment'],
  text: ['Modo de teste: sem dinheiro real.', 'Test mode: no real money.'],
})

export function SandboxBanner() {
  const t = useTexts()
  if (useService().mode !== 'test') return null
  return (
    <section aria-label={t.label} className="bg-mark-ground px-4 py-1.5 text-center text-sm font-semibold text-mark">
      {t.text}
    </section>
  )
}
