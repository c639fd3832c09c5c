import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import type { ExceptionNote } from '../../contract/types.ts'
import { DateTime } from '../../ui/data/values.tsx'
import { Form, Input } from '../../ui/form/form.tsx'
import { Card } from '../../ui/page.tsx'
import { useActorText } from '../labels.tsx'

const useTexts = translations({
  title: ['Notas da equipe', 'Team notes'],
  text: [
    'Só operadores leem. Notas não são alteradas nem apagadas.',
    'Only operators read them. Notes are never changed or deleted.',
  ],
  note: ['Nova nota', 'New note'],
  add: ['Salvar nota', 'Save note'],
})

/** The server allows no more. */
const MAX_NOTE = 1_000

export function Notes({ exceptionId, notes }: { exceptionId: string; notes: readonly ExceptionNote[] }) {
  const t = useTexts()
  const actorText = useActorText()
  const [typed, setTyped] = useState('')
  const sending = useMutation({
    mutationFn: async () => {
      await post(`/operator/exceptions/${exceptionId}/notes`, { text: typed.trim() })
      setTyped('')
      await refresh(['exception', exceptionId])
    },
  })
  return (
    <Card title={t.title} text={t.text}>
      {notes.length > 0 && (
        <ol className="mb-5 space-y-4">
          {notes.map(({ number, text, notedAt, by }) => (
            <li key={number} className="border-l-2 border-line pl-3">
              <p className="wrap-anywhere">{text}</p>
              <p className="mt-0.5 text-sm text-soft wrap-anywhere">
                {actorText(by)}, <DateTime at={notedAt} />
              </p>
            </li>
          ))}
        </ol>
      )}
      <Form sending={sending} onSend={() => typed.trim() !== '' && sending.mutate()} action={t.add}>
        <Input label={t.note} value={typed} onChange={setTyped} maxLength={MAX_NOTE} required />
      </Form>
    </Card>
  )
}
