import { words } from '../base/language.ts'
import { buttonLook } from './button.tsx'
import { Notice } from './notice.tsx'

const useWords = words({
  'pt-BR': {
    text: 'No modo de teste nenhum e-mail é enviado. Abra o link aqui mesmo:',
    open: 'Confirmar o e-mail',
  },
  en: {
    text: 'In test mode no e-mail is sent. Open the link right here:',
    open: 'Confirm the e-mail',
  },
})

/** The link that would be mailed. The server tells it in the sandbox without a mail server, and never where money is real. */
export function ConfirmationLink({ link }: { link: string }) {
  const t = useWords()
  return (
    <div className="grid gap-5">
      <Notice tone="mark">{t.text}</Notice>
      <a href={link} className={buttonLook({ kind: 'primary' })}>
        {t.open}
      </a>
    </div>
  )
}
