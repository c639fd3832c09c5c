import { useQuery } from '@tanstack/react-query'
import { get, put } from '../../base/api.ts'
import { translations, useLanguage } from '../../base/language.ts'
import { queryClient } from '../../base/queries.ts'
import { useService } from '../../base/session.ts'
import type { NoticeChoice } from '../../contract/types.ts'
import { Checkbox } from '../../ui/form/form.tsx'
import { Card, Failure, Skeleton } from '../../ui/page.tsx'
import { toast } from '../../ui/toast.tsx'
import { useNoticePath } from './notices.ts'

const useTexts = translations({
  title: ['Avisos por e-mail', 'Notices by e-mail'],
  text: [
    'No máximo um e-mail por hora, no idioma desta página. O sino mostra tudo.',
    'At most one e-mail an hour, in the language of this page. The bell shows everything.',
  ],
  noMail: [
    'Este serviço não envia e-mails: SMTP_URL não está definido. O sino mostra tudo.',
    'This service sends no e-mail: SMTP_URL is not set. The bell shows everything.',
  ],
  saved: ['Avisos salvos.', 'Notices saved.'],
})

export function NoticeChoices() {
  const t = useTexts()
  const language = useLanguage()
  const { sendsMail } = useService()
  const path = `${useNoticePath()}/choices`
  const queryKey = ['notice choices', language]
  const answer = useQuery({
    queryKey,
    queryFn: ({ signal }) => get<{ choices: NoticeChoice[] }>(path, { language }, { signal }),
  })
  const choices = answer.data?.choices
  const choose = async (changed: NoticeChoice, byEmail: boolean) => {
    const wanted = (choices ?? []).map((choice) => (choice.kind === changed.kind ? { ...choice, byEmail } : choice))
    queryClient.setQueryData(queryKey, { choices: wanted })
    try {
      await put(path, { off: wanted.filter((choice) => !choice.byEmail).map(({ kind }) => kind), language })
      toast.good(t.saved, 'notices')
    } catch (error) {
      toast.bad(error, 'notices')
      await answer.refetch()
    }
  }
  return (
    <Card title={t.title} text={sendsMail ? t.text : t.noMail}>
      {answer.error && <Failure error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.isPending && <Skeleton className="h-24 w-full" />}
      <div className="space-y-3">
        {choices?.map((choice) => (
          <Checkbox
            key={choice.kind}
            label={choice.name}
            value={choice.byEmail}
            onChange={(isChecked) => void choose(choice, isChecked)}
          />
        ))}
      </div>
    </Card>
  )
}
