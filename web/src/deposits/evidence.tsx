import { useId, useRef, useState } from 'react'
import { post } from '../base/api.ts'
import { translations } from '../base/language.ts'
import type { Dispute } from '../contract/types.ts'
import { Badge } from '../ui/badge.tsx'
import { Button, DialogButton } from '../ui/button.tsx'
import { Table } from '../ui/data/table.tsx'
import { DateTime } from '../ui/data/values.tsx'
import { ConfirmDialog } from '../ui/form/form-dialog.tsx'
import { TextArea, useCheck, useFields } from '../ui/form/form.tsx'
import { LogIcon, PlusIcon } from '../ui/icons.tsx'
import type { Tone } from '../ui/notice.tsx'
import { Card, Empty } from '../ui/page.tsx'
import type { AnyDispute } from './disputes.tsx'

const useTexts = translations({
  title: ['Provas', 'Evidence'],
  text: [
    'O banco decide pelas provas que recebe até o prazo: nota fiscal, comprovante de entrega, conversa com o cliente.',
    'The bank decides by the evidence that it has before the deadline: invoice, proof of delivery, messages with the customer.',
  ],
  give: ['Enviar prova', 'Give evidence'],
  file: ['Arquivo', 'File'],
  chosen: (name: string) => [`Escolhido: ${name}`, `Chosen: ${name}`],
  choose: ['Escolher arquivo', 'Choose file'],
  fileHint: ['PDF, PNG ou JPEG de até 3 MB.', 'PDF, PNG or JPEG of at most 3 MB.'],
  missing: ['Escolha um arquivo de até 3 MB', 'Choose a file of at most 3 MB'],
  description: ['O que ele mostra', 'What it shows'],
  descriptionHint: ['O banco também lê.', 'The bank reads it too.'],
  kept: [
    'O guiche guarda o arquivo só até enviá-lo. Depois ficam o nome, o tamanho e o SHA-256.',
    'guiche keeps the file only until it was sent. Its name, size and SHA-256 stay.',
  ],
  done: ['Prova recebida. Ela segue para o banco agora.', 'Evidence received. It goes to the bank now.'],
  status: {
    SENDING: ['Enviando', 'Being sent'],
    SENT: ['Enviada', 'Sent'],
    REFUSED: ['Recusada', 'Refused'],
  },
  state: ['Situação', 'Status'],
  given: ['Recebida em', 'Given'],
  empty: { title: ['Nenhuma prova ainda', 'No evidence yet'] },
})

const TONES: Record<Dispute['evidence'][number]['status'], Tone> = { SENDING: 'wait', SENT: 'good', REFUSED: 'bad' }

// The server takes no more.
const MAX_BYTES = 3 * 1024 * 1024

/** `path` is the address of the dispute in the API. */
export function Evidence({ dispute, path, mayGive }: { dispute: AnyDispute; path: string; mayGive: boolean }) {
  const t = useTexts()
  const rows: readonly Omit<Dispute['evidence'][number], 'givenBy'>[] = dispute.evidence
  return (
    <Card
      title={t.title}
      text={t.text}
      isFlush
      actions={
        dispute.status === 'OPEN' &&
        mayGive && (
          <DialogButton
            icon={PlusIcon}
            kind="primary"
            dialog={(close) => <EvidenceDialog path={path} onClose={close} />}
          >
            {t.give}
          </DialogButton>
        )
      }
    >
      <Table
        caption={t.title}
        columns={[
          {
            header: t.file,
            cell: ({ fileName, description, failure }) => (
              <span className="block wrap-anywhere">
                {fileName}
                <span className="block text-sm text-soft">{description}</span>
                {failure !== null && <span className="block text-sm text-bad">{failure}</span>}
              </span>
            ),
          },
          {
            header: t.state,
            width: 'w-36',
            cell: ({ status }) => <Badge tone={TONES[status]}>{t.status[status]}</Badge>,
          },
          { header: t.given, width: 'w-52', cell: ({ givenAt }) => <DateTime at={givenAt} /> },
        ]}
        list={{ rows }}
        rowKey={({ id }) => id}
        empty={<Empty icon={LogIcon} title={t.empty.title} />}
      />
    </Card>
  )
}

function EvidenceDialog({ path, onClose }: { path: string; onClose: () => void }) {
  const t = useTexts()
  const { typed, field, set } = useFields<{ description: string; file: File | undefined }>({
    description: '',
    file: undefined,
  })
  const { file } = typed
  const isPossible = file !== undefined && file.size > 0 && file.size <= MAX_BYTES
  const { isWrong, onCheck } = useCheck(isPossible)
  const send = async () => {
    const body = { fileName: file!.name.slice(0, 100), content: await base64Of(file!) }
    await post(`${path}/evidence`, { ...body, description: typed.description.trim() || null })
  }
  return (
    <ConfirmDialog
      title={t.give}
      text={t.kept}
      action={t.give}
      onCheck={onCheck}
      onSend={send}
      done={t.done}
      refreshes={[['dispute'], ['list', '/disputes'], ['list', '/operator/disputes']]}
      onClose={onClose}
      hidesOldError
    >
      <FileField file={file} error={isWrong ? t.missing : undefined} onChange={(chosen) => set({ file: chosen })} />
      <TextArea
        {...field('description')}
        label={t.description}
        hint={t.descriptionHint}
        isOptional
        maxLength={500}
        rows={3}
      />
    </ConfirmDialog>
  )
}

function FileField(props: { file: File | undefined; error: string | undefined; onChange: (file: File) => void }) {
  const t = useTexts()
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [isTouched, setTouched] = useState(false)
  const { file, error, onChange } = props
  return (
    <div className="space-y-1.5">
      <label htmlFor={id} className="block text-sm font-semibold">
        {t.file}
      </label>
      <input
        ref={input}
        id={id}
        type="file"
        accept="application/pdf,image/png,image/jpeg"
        aria-describedby={`${id}-hint`}
        className="sr-only"
        tabIndex={-1}
        onChange={({ target }) => {
          setTouched(true)
          if (target.files?.[0]) onChange(target.files[0])
        }}
      />
      <Button size="small" onClick={() => input.current?.click()}>
        {t.choose}
      </Button>
      <p id={`${id}-hint`} aria-live="polite" className="text-sm text-soft wrap-anywhere">
        {isTouched && file ? t.chosen(file.name) : t.fileHint}
      </p>
      {error !== undefined && (
        <p role="alert" className="text-sm font-medium text-bad">
          {error}
        </p>
      )}
    </div>
  )
}

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  let text = ''
  // A call with millions of arguments would fail.
  for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768))
  return btoa(text)
}
