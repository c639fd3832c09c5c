import { translations } from '../../base/language.ts'
import { Page } from '../../ui/page.tsx'
import { ChargeList } from './charge-list.tsx'

const useTexts = translations({
  title: ['Cobranças', 'Charges'],
  text: [
    'As cobranças de todas as contas, das mais novas às mais antigas.',
    'The charges of all accounts, newest first.',
  ],
})

export function ChargesPage() {
  const t = useTexts()
  return (
    <Page title={t.title} text={t.text}>
      <ChargeList />
    </Page>
  )
}
