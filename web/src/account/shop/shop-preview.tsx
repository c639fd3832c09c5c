import { useEffect, useState } from 'react'
import { fileUrl } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { Card } from '../../ui/page.tsx'
import { Select } from '../../ui/form/form.tsx'
import type { Typed } from './shop.ts'

const useTexts = translations({
  title: ['Prévia', 'Preview'],
  text: ['Assim fica a página de pagamento, ainda sem salvar.', 'The payment page as it will be, not saved yet.'],
  state: ['Mostrar', 'Show'],
  states: {
    open: ['Antes do pagamento', 'Before the payment'],
    paid: ['Depois do pagamento', 'After the payment'],
  },
  newLogo: ['O novo logo aparece aqui depois de salvar.', 'The new logo shows here after saving.'],
})

// The page is asked for again when somebody stops typing.
const PAUSE_MS = 400

/** The server's own page, of a deposit that does not exist. It can run nothing and send nothing. */
export function ShopPreview({ typed, version, hasNewLogo }: { typed: Typed; version: number; hasNewLogo: boolean }) {
  const t = useTexts()
  const [state, setState] = useState('open')
  const { language, defaultExpiresIn: _, returnOrigins: __, ...shown } = typed
  // Another version may have another logo.
  const url = useSettled(fileUrl('/shop/preview', { ...shown, lang: language, view: state, version }))
  return (
    <Card title={t.title} text={t.text} className="lg:sticky lg:top-6">
      <div className="space-y-4">
        <Select
          label={t.state}
          value={state}
          onChange={setState}
          choices={Object.entries(t.states).map(([value, label]) => ({ value, label }))}
        />
        {hasNewLogo && <p className="text-sm text-soft">{t.newLogo}</p>}
        <iframe title={t.title} src={url} sandbox="" className="h-160 w-full rounded-xl border border-line bg-card" />
      </div>
    </Card>
  )
}

function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
