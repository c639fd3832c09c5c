import { translations } from '../../base/language.ts'
import { Card, Page, Skeleton } from '../../ui/page.tsx'
import { TimeZoneSetting } from './time-zone.tsx'
import { useShop } from './shop.ts'
import { ShopForm } from './shop-form.tsx'

const useTexts = translations({
  title: ['Minha loja', 'My shop'],
  text: [
    'O que os pagadores veem na página de pagamento e no recibo.',
    'What payers see on the payment page and the receipt.',
  ],
})

export function ShopPage() {
  const t = useTexts()
  const shop = useShop()
  return (
    <Page title={t.title} text={t.text} query={shop}>
      {shop.data ? (
        <ShopForm shop={shop.data.shop} />
      ) : (
        <Card>
          <Skeleton className="h-96 w-full" />
        </Card>
      )}
      <TimeZoneSetting />
    </Page>
  )
}
