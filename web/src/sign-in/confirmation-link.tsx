import { translations } from '../base/language.ts'
import { buttonClass } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'

const useTexts = translations({
  text: [
    'No modo de teste nenhum e-mail é enviado. Abra o link aqui:',
    'No email is sent in test mode. Open the link here:',
  ],
  open: ['Confirmar e-mail', 'Confirm email'],
})

/** The link that would be mailed. The server returns it only in the sandbox without a mail server. */
export function ConfirmationLink({ link }: { link: string }) {
  const t = useTexts()
  return (
    <div className="grid gap-5">
      <Notice tone="mark">{t.text}</Notice>
      <a href={link} className={buttonClass({ kind: 'primary' })}>
        {t.open}
      </a>
    </div>
  )
}
