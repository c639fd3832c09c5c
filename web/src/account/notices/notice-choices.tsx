import { useQuery } from '@tanstack/react-query'
import { get, put } from '../../base/api.ts'
import { LANGUAGES, translations, useLanguage } from '../../base/language.ts'
import { queryClient } from '../../base/queries.ts'
import { useService } from '../../base/session.ts'
import type { NoticeChoices as Choices } from '../../contract/types.ts'
import { Checkbox, Select } from '../../ui/form/form.tsx'
import { Card, Failure, Skeleton } from '../../ui/page.tsx'
import { toast } from '../../ui/toast.tsx'
import { useNoticePath } from './notices.ts'

const useTexts = translations({
  title: ['Avisos por e-mail', 'Notices by e-mail'],
  text: ['No máximo um e-mail por hora. O sino mostra tudo.', 'At most one e-mail an hour. The bell shows everything.'],
  noMail: [
    'Este serviço não envia e-mails: SMTP_URL não está definido. O sino mostra tudo.',
    'This service sends no e-mail: SMTP_URL is not set. The bell shows everything.',
  ],
  language: ['Idioma dos e-mails', 'Language of e-mails'],
  asDashboard: ['O mesmo do painel', 'The same as the dashboard'],
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
    queryFn: ({ signal }) => get<Choices>(path, { language }, { signal }),
  })
  const chosen = answer.data
  const save = async (wanted: Choices) => {
    queryClient.setQueryData(queryKey, wanted)
    try {
      const off = wanted.choices.filter(({ byEmail }) => !byEmail).map(({ kind }) => kind)
      await put(path, { off, language, emailLanguage: wanted.emailLanguage })
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
      {chosen && (
        <div className="space-y-3">
          {chosen.choices.map((choice) => (
            <Checkbox
              key={choice.kind}
              label={choice.name}
              value={choice.byEmail}
              onChange={(byEmail) =>
                void save({
                  ...chosen,
                  choices: chosen.choices.map((one) => (one.kind === choice.kind ? { ...one, byEmail } : one)),
                })
              }
            />
          ))}
          <div className="pt-2 sm:max-w-72">
            <Select
              label={t.language}
              value={chosen.emailLanguage}
              // A select returns only the values of its choices.
              onChange={(value) => void save({ ...chosen, emailLanguage: value as Choices['emailLanguage'] })}
              choices={Object.entries({ dashboard: t.asDashboard, ...LANGUAGES }).map(([value, label]) => ({
                value,
                label,
              }))}
            />
          </div>
        </div>
      )}
    </Card>
  )
}
