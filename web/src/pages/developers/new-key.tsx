import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import { isCanceled, post } from '../../base/api.ts'
import { useErrorText } from '../../base/error-text.ts'
import { words } from '../../base/language.ts'
import { useService } from '../../base/session.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Input, Select } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { SCOPES, type Key, type Scope } from './shapes.ts'
import { ShownOnce } from './shown-once.tsx'

const useWords = words({
  'pt-BR': {
    title: 'Criar chave de API',
    name: 'Nome',
    nameHint: 'Onde ela será usada, como “Loja, produção”.',
    scopes: 'O que ela pode fazer',
    noScope: 'Escolha ao menos uma permissão.',
    scope: {
      'deposits:write': ['Criar depósitos', 'Pedir e cancelar depósitos.'],
      'deposits:read': ['Ver depósitos', 'Consultar e listar depósitos e devoluções.'],
      'balance:read': ['Ver saldo e extrato', 'Sem poder mudar nada.'],
      'webhooks:write': ['Gerir webhooks', 'Decidir para onde vão os eventos, e reenviá-los.'],
    },
    andRefund: 'Pedir, cancelar e devolver depósitos.',
    expires: 'Validade',
    expiry: { '': 'Não expira', '30': '30 dias', '90': '90 dias', '365': '1 ano' },
    cancel: 'Voltar',
    create: 'Criar chave',
    madeTitle: 'Sua nova chave',
    once: 'Copie agora. Por segurança, ela não será mostrada de novo.',
    key: 'Chave de API',
    copy: 'Copiar chave',
    tryIt: 'Experimente: um depósito de R$ 50,00',
  },
  en: {
    title: 'Create an API key',
    name: 'Name',
    nameHint: 'Where it will be used, such as “Shop, production”.',
    scopes: 'What it may do',
    noScope: 'Choose at least one.',
    scope: {
      'deposits:write': ['Make deposits', 'Ask for deposits and cancel them.'],
      'deposits:read': ['See deposits', 'Query and list deposits and refunds.'],
      'balance:read': ['See balance and statement', 'And change nothing.'],
      'webhooks:write': ['Manage webhooks', 'Decide where events go, and send them again.'],
    },
    andRefund: 'Ask for deposits, cancel and refund them.',
    expires: 'Valid for',
    expiry: { '': 'Does not expire', '30': '30 days', '90': '90 days', '365': '1 year' },
    cancel: 'Back',
    create: 'Create the key',
    madeTitle: 'Your new key',
    once: 'Copy it now. For safety it will not be shown again.',
    key: 'API key',
    copy: 'Copy the key',
    tryIt: 'Try it: a deposit of R$ 50.00',
  },
})

const DAY_MS = 24 * 3_600_000
/** Enough for most, and no more: who needs the others knows why. */
const USUAL_SCOPES: readonly Scope[] = ['deposits:write', 'deposits:read']

/** A form, and then the key, this once. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const t = useWords()
  const queryClient = useQueryClient()
  const [form, setForm] = useState({ name: '', scopes: USUAL_SCOPES, days: '' })
  const create = useMutation({
    // Nothing remembers the key once this is closed.
    gcTime: 0,
    mutationFn: () => {
      const expiresAt = form.days === '' ? null : new Date(Date.now() + Number(form.days) * DAY_MS).toISOString()
      return post<{ key: Key; text: string }>('/keys', { name: form.name.trim(), scopes: form.scopes, expiresAt })
    },
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['keys'] }),
  })
  if (!create.data) return <Form form={form} onForm={setForm} create={create} onClose={onClose} />
  const { text, key } = create.data
  return (
    <ShownOnce
      title={t.madeTitle}
      warning={t.once}
      label={`${t.key}: ${key.name}`}
      text={text}
      copyLabel={t.copy}
      onClose={onClose}
      after={
        key.scopes.includes('deposits:write') && (
          <div className="space-y-2">
            <h3 className="text-sm font-semibold">{t.tryIt}</h3>
            <CodeBlock label={t.tryIt} code={curlLine(text)} />
          </div>
        )
      }
    />
  )
}

/** At the address where the reader is: that one surely answers them. */
function curlLine(key: string): string {
  return [
    `curl ${location.origin}/api/deposit \\`,
    `  -H 'Authorization: Bearer ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"value": 5000}'`,
  ].join('\n')
}

type KeyForm = { name: string; scopes: readonly Scope[]; days: string }

function Form({
  form,
  onForm,
  create,
  onClose,
}: {
  form: KeyForm
  onForm: (form: KeyForm) => void
  create: { mutate: () => void; isPending: boolean; error: Error | null }
  onClose: () => void
}) {
  const t = useWords()
  const mayRefund = useService().accountsMayRefund
  const errorText = useErrorText()
  const [isTried, setTried] = useState(false)
  const hasScope = form.scopes.length > 0
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (hasScope) create.mutate()
  }
  return (
    <Dialog
      isOpen
      onClose={() => !create.isPending && onClose()}
      title={t.title}
      footer={
        <>
          <Button onClick={onClose} disabled={create.isPending}>
            {t.cancel}
          </Button>
          <Button type="submit" form="new-key" kind="primary" isBusy={create.isPending}>
            {t.create}
          </Button>
        </>
      }
    >
      <form id="new-key" onSubmit={submit} className="space-y-5">
        <Input
          label={t.name}
          hint={t.nameHint}
          required
          // Whoever opened the dialog came to fill it in.
          // oxlint-disable-next-line jsx-a11y/no-autofocus
          autoFocus
          maxLength={100}
          autoComplete="off"
          value={form.name}
          onChange={(event) => onForm({ ...form, name: event.target.value })}
        />
        <fieldset>
          <legend className="mb-2.5 text-sm font-semibold">{t.scopes}</legend>
          <div className="space-y-3">
            {SCOPES.map((scope) => (
              <Checkbox
                key={scope}
                label={t.scope[scope][0]}
                hint={
                  <>
                    {scope === 'deposits:write' && mayRefund ? t.andRefund : t.scope[scope][1]}{' '}
                    <code className="font-mono text-[0.8125rem] whitespace-nowrap">{scope}</code>
                  </>
                }
                checked={form.scopes.includes(scope)}
                onChange={(event) => onForm({ ...form, scopes: toggled(form.scopes, scope, event.target.checked) })}
              />
            ))}
          </div>
          {isTried && !hasScope && (
            <p role="alert" className="mt-2 text-sm font-medium text-bad">
              {t.noScope}
            </p>
          )}
        </fieldset>
        <Select
          label={t.expires}
          value={form.days}
          onChange={(event) => onForm({ ...form, days: event.target.value })}
          choices={['', '30', '90', '365'].map((value) => ({ value, label: t.expiry[value as keyof typeof t.expiry] }))}
        />
        {create.error && !isCanceled(create.error) && <Notice tone="bad">{errorText(create.error)}</Notice>}
      </form>
    </Dialog>
  )
}

/** In the order in which they stand, whichever was ticked first. */
function toggled(scopes: readonly Scope[], scope: Scope, isWanted: boolean): Scope[] {
  return SCOPES.filter((one) => (one === scope ? isWanted : scopes.includes(one)))
}
