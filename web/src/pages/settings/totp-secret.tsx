import { words } from '../../base/language.ts'
import { Copyable } from '../../ui/copy-button.tsx'
import { QrCode } from '../../ui/qr-code.tsx'

const useWords = words({
  'pt-BR': { qr: 'Código QR para o aplicativo autenticador', byHand: 'Sem câmera? Digite esta chave no aplicativo:' },
  en: { qr: 'QR code for the authenticator app', byHand: 'No camera? Type this key into the app:' },
})

/** What the app must know, as a picture and as text. */
export function TotpSecret({ uri }: { uri: string }) {
  const t = useWords()
  const secret = URL.canParse(uri) ? (new URL(uri).searchParams.get('secret') ?? '') : ''
  return (
    <div className="space-y-3">
      <QrCode text={uri} label={t.qr} className="mx-auto w-52 rounded-lg border border-line" />
      <div className="text-sm text-soft">
        {t.byHand}
        <div className="text-ink">
          <Copyable text={secret} />
        </div>
      </div>
    </div>
  )
}
