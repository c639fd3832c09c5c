import { useMe } from '../../base/session.ts'
import { moneyText } from '../../base/money.ts'
import { translations } from '../../base/language.ts'
import type { NewCharge, Shop } from '../../contract/types.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/data/values.tsx'
import { ChatIcon, PrintIcon, ShareIcon } from '../../ui/icons.tsx'
import { useShop } from '../shop/shop.ts'

const useTexts = translations({
  copy: ['Copiar link', 'Copy link'],
  share: ['Compartilhar', 'Share'],
  whatsapp: ['WhatsApp', 'WhatsApp'],
  print: ['Imprimir', 'Print'],
})

type Message = (amount: string, name: string) => string

/** The payer reads it, so it is in the payers' language. */
const MESSAGES: Record<Shop['language'], { pay: Message; receipt: Message }> = {
  'pt-BR': {
    pay: (amount, name) => `Pague ${amount} por Pix para ${name}:`,
    receipt: (amount, name) => `Recibo de ${amount} de ${name}:`,
  },
  en: {
    pay: (amount, name) => `Pay ${amount} by Pix to ${name}:`,
    receipt: (amount, name) => `Receipt of ${amount} from ${name}:`,
  },
  es: {
    pay: (amount, name) => `Pague ${amount} por Pix a ${name}:`,
    receipt: (amount, name) => `Recibo de ${amount} de ${name}:`,
  },
}

/** Ways to hand the payer the payment page, or once it is paid, the receipt. */
export function Share({ deposit }: { deposit: Pick<NewCharge, 'value' | 'paymentLinkUrl' | 'status'> }) {
  const t = useTexts()
  const isPaid = deposit.status === 'COMPLETED'
  const message = useMessage(deposit.value, isPaid ? 'receipt' : 'pay')
  const url = isPaid ? `${deposit.paymentLinkUrl}/receipt` : deposit.paymentLinkUrl
  const link = buttonClass({ size: 'small' })
  return (
    <>
      <CopyButton text={url} label={t.copy} />
      {'share' in navigator && (
        // Closing the sheet is no failure.
        <Button
          size="small"
          icon={ShareIcon}
          onClick={() => void navigator.share({ text: message, url }).catch(() => {})}
        >
          {t.share}
        </Button>
      )}
      <a
        href={`https://wa.me/?text=${encodeURIComponent(`${message} ${url}`)}`}
        target="_blank"
        rel="noopener noreferrer"
        className={link}
      >
        <ChatIcon className="size-4" />
        {t.whatsapp}
      </a>
      {/* The page prints itself, and only that. */}
      <a href={`${url}#print`} target="_blank" rel="noopener" className={link}>
        <PrintIcon className="size-4" />
        {t.print}
      </a>
    </>
  )
}

/** Until the shop has loaded, in Portuguese and by the account's name. */
function useMessage(cents: number, kind: 'pay' | 'receipt'): string {
  const me = useMe()
  const shop = useShop().data?.shop
  const language = shop?.language ?? 'pt-BR'
  const name = shop?.name ?? me.accounts.find(({ accountId }) => accountId === me.accountId)?.name ?? me.name
  // Brazil and its neighbours write amounts alike.
  return MESSAGES[language][kind](moneyText(cents, language === 'en' ? 'en' : 'pt-BR'), name)
}
