import { translations } from '../../base/language.ts'
import type { NewCharge } from '../../contract/types.ts'
import { buttonClass } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/data/values.tsx'
import { QrCode } from '../../ui/data/qr-code.tsx'
import { ExternalIcon } from '../../ui/icons.tsx'
import { Share } from './share.tsx'

const useTexts = translations({
  qr: ['QR code para pagar este depósito', 'QR code to pay this deposit'],
  code: ['Código Pix copia e cola', 'Pix copy and paste code'],
  copyCode: ['Copiar código Pix', 'Copy Pix code'],
  open: ['Abrir página de pagamento', 'Open payment page'],
})

/** Everything a payer may be given: the QR code, the code as text, and the page with both. */
export function PaymentCode({ deposit }: { deposit: NewCharge }) {
  const t = useTexts()
  return (
    <div className="space-y-4">
      <QrCode text={deposit.emv} label={t.qr} className="mx-auto size-52 rounded-lg border border-line" />
      <div className="rounded-lg bg-code-ground p-3">
        <p className="text-sm font-semibold">{t.code}</p>
        <code className="mt-1 block font-mono text-xs leading-5 break-all text-soft">{deposit.emv}</code>
      </div>
      <div className="flex flex-wrap gap-2">
        <CopyButton text={deposit.emv} label={t.copyCode} />
        <Share deposit={deposit} />
      </div>
      <a
        href={deposit.paymentLinkUrl}
        target="_blank"
        rel="noopener"
        className={`${buttonClass({ kind: 'primary' })} w-full`}
      >
        <ExternalIcon className="size-4" />
        {t.open}
      </a>
    </div>
  )
}
