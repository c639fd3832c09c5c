import { useState } from 'react'
import { post } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import { useMe, useService } from '../../base/session.ts'
import { SCOPES, type Scope } from '../../contract/codes.ts'
import type { Key } from '../../contract/types.ts'
import { CodeBlock } from '../../ui/data/values.tsx'
import { CheckboxGroup, Input, Select, useCheck, useFields } from '../../ui/form/form.tsx'
import { FormDialog, Secret, ShownOnce } from '../../ui/form/form-dialog.tsx'

const useTexts = translations({
  title: ['Criar chave de API', 'Create API key'],
  name: ['Nome', 'Name'],
  nameHint: ['Onde será usada, como “Loja, produção”.', 'Where it will be used, such as “Shop, production”.'],
  scopes: ['Permissões', 'Permissions'],
  noScope: ['Escolha ao menos uma permissão.', 'Choose at least one permission.'],
  scope: {
    'deposits:write': {
      label: ['Criar depósitos', 'Create deposits'],
      hint: ['Criar e cancelar depósitos.', 'Create and cancel deposits.'],
    },
    'deposits:read': {
      label: ['Ver depósitos', 'View deposits'],
      hint: [
        'Consultar e listar depósitos, devoluções e contestações.',
        'Read and list deposits, refunds and disputes.',
      ],
    },
    'refunds:write': {
      label: ['Devolver depósitos', 'Refund deposits'],
      hint: [
        'Devolver depósitos aos pagadores e enviar provas em contestações.',
        'Refund deposits to their payers, and give evidence in disputes.',
      ],
    },
    'balance:read': {
      label: ['Ver saldo e extrato', 'View balance and statement'],
      hint: ['Somente leitura.', 'Read-only.'],
    },
    'events:read': {
      label: ['Ver eventos', 'View events'],
      hint: ['Ler e acompanhar o histórico da conta.', 'Read and follow the history of the account.'],
    },
    'payouts:write': {
      label: ['Pedir repasses', 'Ask for payouts'],
      hint: [
        'Pedir à equipe do guiche que pague uma parte do saldo.',
        'Ask the guiche team to pay out a part of the balance.',
      ],
    },
    'payouts:read': {
      label: ['Ver repasses', 'View payouts'],
      hint: ['Ver os repasses pedidos, pagos e recusados.', 'See payouts that were requested, paid and rejected.'],
    },
    'webhooks:write': {
      label: ['Gerenciar webhooks', 'Manage webhooks'],
      hint: ['Configurar webhooks e reenviar eventos.', 'Configure webhooks and resend events.'],
    },
  },
  expires: ['Validade', 'Expires after'],
  expiry: {
    '': ['Nunca expira', 'Never expires'],
    '30': ['30 dias', '30 days'],
    '90': ['90 dias', '90 days'],
    '365': ['1 ano', '1 year'],
  },
  create: ['Criar chave', 'Create key'],
  madeTitle: ['Sua nova chave', 'Your new key'],
  once: [
    'Copie agora. Por segurança, ela não será mostrada de novo.',
    'Copy it now. For your security, it won’t be shown again.',
  ],
  key: ['Chave de API', 'API key'],
  copy: ['Copiar chave', 'Copy key'],
  tryIt: ['Experimente: crie um depósito de R$ 50,00', 'Try it: create a deposit of R$ 50.00'],
})

const DAY_MS = 24 * 3_600_000
const EXPIRIES = ['', '30', '90', '365'] as const
/** Most systems need these, and no more. */
const DEFAULT_SCOPES: readonly Scope[] = ['deposits:write', 'deposits:read']

type KeyForm = { name: string; scopes: readonly Scope[]; days: string }

/** Shows a form, and then the key, once. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const t = useTexts()
  const [made, setMade] = useState<{ key: Key; text: string }>()
  const create = async ({ name, scopes, days }: KeyForm) => {
    const expiresAt = days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString()
    setMade(await post('/keys', { name: name.trim(), scopes, expiresAt }))
    await refresh(['keys'])
  }
  if (!made) return <NewKeyForm onSend={create} onClose={onClose} />
  const { text, key } = made
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

/** Calls the origin of this page, which certainly answers. */
function curlLine(key: string): string {
  return [
    `curl ${location.origin}/api/deposit \\`,
    `  -H 'Authorization: Bearer ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '{"value": 5000}'`,
  ].join('\n')
}

type FormProps = { onSend: (form: KeyForm) => Promise<unknown>; onClose: () => void }

function NewKeyForm({ onSend, onClose }: FormProps) {
  const t = useTexts()
  const mayRefund = useService().accountsMayRefund
  const { scopes } = useMe()
  // Nobody gives a key more than their own role allows.
  const offered = SCOPES.filter((scope) => scopes.includes(scope) && (mayRefund || scope !== 'refunds:write'))
  const { typed, field } = useFields<KeyForm>({ name: '', scopes: DEFAULT_SCOPES, days: '' })
  const { isWrong, onCheck } = useCheck(typed.scopes.length > 0)
  const hintOf = (scope: Scope) => (
    <>
      {t.scope[scope].hint} <code className="font-mono text-[0.8125rem] whitespace-nowrap">{scope}</code>
    </>
  )
  return (
    <FormDialog title={t.title} action={t.create} onCheck={onCheck} onSend={() => onSend(typed)} onClose={onClose}>
      <Input
        label={t.name}
        hint={t.nameHint}
        required
        // The user opened the dialog to fill it in.
        // oxlint-disable-next-line jsx-a11y/no-autofocus
        autoFocus
        maxLength={100}
        {...field('name')}
      />
      <CheckboxGroup
        legend={t.scopes}
        options={offered.map((value) => ({ value, label: t.scope[value].label, hint: hintOf(value) }))}
        {...field('scopes')}
        error={isWrong && t.noScope}
      />
      <Select
        label={t.expires}
        {...field('days')}
        choices={EXPIRIES.map((value) => ({ value, label: t.expiry[value] }))}
      />
    </FormDialog>
  )
}
