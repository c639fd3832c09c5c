import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { useService } from '../../base/session.ts'
import { SCOPES, type Scope } from '../../contract/codes.ts'
import type { Key } from '../../contract/types.ts'
import { CodeBlock } from '../../ui/data/code-block.tsx'
import { CheckboxGroup, Input, Select } from '../../ui/form/field.tsx'
import { FormDialog } from '../../ui/form/form-dialog.tsx'
import type { Sending } from '../../ui/form/form.tsx'
import { Secret, ShownOnce } from '../../ui/form/shown-once.tsx'

const useTexts = translations({
  'pt-BR': {
    title: 'Criar chave de API',
    name: 'Nome',
    nameHint: 'Onde será usada, como “Loja, produção”.',
    scopes: 'Permissões',
    noScope: 'Escolha ao menos uma permissão.',
    scope: {
      'deposits:write': ['Criar depósitos', 'Criar e cancelar depósitos.'],
      'deposits:read': ['Ver depósitos', 'Consultar e listar depósitos e devoluções.'],
      'balance:read': ['Ver saldo e extrato', 'Somente leitura.'],
      'webhooks:write': ['Gerenciar webhooks', 'Configurar webhooks e reenviar eventos.'],
    },
    andRefund: 'Criar, cancelar e devolver depósitos.',
    expires: 'Validade',
    expiry: { '': 'Nunca expira', '30': '30 dias', '90': '90 dias', '365': '1 ano' },
    create: 'Criar chave',
    madeTitle: 'Sua nova chave',
    once: 'Copie agora. Por segurança, ela não será mostrada de novo.',
    key: 'Chave de API',
    copy: 'Copiar chave',
    tryIt: 'Experimente: crie um depósito de R$ 50,00',
  },
  en: {
    title: 'Create API key',
    name: 'Name',
    nameHint: 'Where it will be used, such as “Shop, production”.',
    scopes: 'Permissions',
    noScope: 'Choose at least one permission.',
    scope: {
      'deposits:write': ['Create deposits', 'Create and cancel deposits.'],
      'deposits:read': ['View deposits', 'Read and list deposits and refunds.'],
      'balance:read': ['View balance and statement', 'Read-only.'],
      'webhooks:write': ['Manage webhooks', 'Configure webhooks and resend events.'],
    },
    andRefund: 'Create, cancel and refund deposits.',
    expires: 'Expires after',
    expiry: { '': 'Never expires', '30': '30 days', '90': '90 days', '365': '1 year' },
    create: 'Create key',
    madeTitle: 'Your new key',
    once: 'Copy it now. For your security, it won’t be shown again.',
    key: 'API key',
    copy: 'Copy key',
    tryIt: 'Try it: create a deposit of R$ 50.00',
  },
})

const DAY_MS = 24 * 3_600_000
const EXPIRIES = ['', '30', '90', '365'] as const
/** Enough for most, and no more. */
const DEFAULT_SCOPES: readonly Scope[] = ['deposits:write', 'deposits:read']

type KeyForm = { name: string; scopes: readonly Scope[]; days: string }

/** A form, and then the key, once. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const t = useTexts()
  const queryClient = useQueryClient()
  const create = useMutation({
    // Nothing remembers the key once this is closed.
    gcTime: 0,
    mutationFn: ({ name, scopes, days }: KeyForm) => {
      const expiresAt = days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString()
      return post<{ key: Key; text: string }>('/keys', { name: name.trim(), scopes, expiresAt })
    },
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['keys'] }),
  })
  if (!create.data) return <NewKeyForm sending={create} onSend={create.mutate} onClose={onClose} />
  const { text, key } = create.data
  return (
    <ShownOnce title={t.madeTitle} warning={t.once} onClose={onClose}>
      <Secret label={`${t.key}: ${key.name}`} text={text} copyLabel={t.copy} />
      {key.scopes.includes('deposits:write') && (
        <div className="space-y-2">
          <h3 className="text-sm font-semibold">{t.tryIt}</h3>
          <CodeBlock label={t.tryIt} code={curlLine(text)} />
        </div>
      )}
    </ShownOnce>
  )
}

/** To the origin of this page, which certainly answers. */
function curlLine(key: string): string {
  return [
    `curl ${location.origin}/api/deposit \\`,
    `  -H 'Authorization: Bearer ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"value": 5000}'`,
  ].join('\n')
}

type FormProps = { sending: Sending; onSend: (form: KeyForm) => void; onClose: () => void }

function NewKeyForm({ sending, onSend, onClose }: FormProps) {
  const t = useTexts()
  const mayRefund = useService().accountsMayRefund
  const [form, setForm] = useState<KeyForm>({ name: '', scopes: DEFAULT_SCOPES, days: '' })
  const [isTried, setTried] = useState(false)
  const hasScope = form.scopes.length > 0
  const send = () => {
    setTried(true)
    if (hasScope) onSend(form)
  }
  const hintOf = (scope: Scope) => (
    <>
      {scope === 'deposits:write' && mayRefund ? t.andRefund : t.scope[scope][1]}{' '}
      <code className="font-mono text-[0.8125rem] whitespace-nowrap">{scope}</code>
    </>
  )
  return (
    <FormDialog title={t.title} action={t.create} sending={sending} onSend={send} onClose={onClose}>
      <Input
        label={t.name}
        hint={t.nameHint}
        required
        // The user opened the dialog to fill it in.
        // oxlint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        maxLength={100}
        autoComplete="off"
        value={form.name}
        onChange={(event) => setForm({ ...form, name: event.target.value })}
      />
      <CheckboxGroup
        legend={t.scopes}
        options={SCOPES.map((value) => ({ value, label: t.scope[value][0], hint: hintOf(value) }))}
        values={form.scopes}
        onChange={(scopes) => setForm({ ...form, scopes })}
        error={isTried && !hasScope && t.noScope}
      />
      <Select
        label={t.expires}
        value={form.days}
        onChange={(event) => setForm({ ...form, days: event.target.value })}
        choices={EXPIRIES.map((value) => ({ value, label: t.expiry[value] }))}
      />
    </FormDialog>
  )
}
