import { useMutation } from '@tanstack/react-query'
import { put } from '../../base/api.ts'
import { zoneOffsetText } from '../../base/dates.ts'
import { translations, useLanguage } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import { useMe } from '../../base/session.ts'
import { Form, Select, useFields } from '../../ui/form/form.tsx'
import { Card } from '../../ui/page.tsx'
import { toast } from '../../ui/toast.tsx'

const useTexts = translations({
  title: ['Fuso horário da conta', 'Time zone of the account'],
  text: [
    'Os dias do extrato, dos arquivos e de todas as páginas começam à meia-noite deste fuso.',
    'The days of the statement, of files and of all pages begin at midnight in this zone.',
  ],
  zone: ['Fuso horário', 'Time zone'],
  submit: ['Salvar', 'Save'],
  done: ['Fuso horário alterado.', 'Time zone changed.'],
})

/** Those of Brazil first, from east to west. */
const FIRST = ['America/Sao_Paulo', 'America/Noronha', 'America/Manaus', 'America/Rio_Branco']

export function TimeZoneSetting() {
  const t = useTexts()
  const me = useMe()
  const language = useLanguage()
  const { typed, field } = useFields({ timeZone: me.timeZone })
  const change = useMutation({
    mutationFn: () => put('/account/time-zone', typed),
    onSuccess: async () => {
      toast.good(t.done)
      // All that pages have read is of the days before.
      await refresh([])
    },
  })
  const zones = new Set([...FIRST, me.timeZone, ...Intl.supportedValuesOf('timeZone')])
  return (
    <Card title={t.title} text={t.text}>
      <Form sending={change} onSend={() => change.mutate()} action={t.submit} className="max-w-md">
        <Select
          {...field('timeZone')}
          label={t.zone}
          choices={Array.from(zones, (value) => ({
            value,
            label: `${value.replaceAll('_', ' ')} (${zoneOffsetText(value, language)})`,
          }))}
        />
      </Form>
    </Card>
  )
}
