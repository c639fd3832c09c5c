import { translations } from '../../base/language.ts'
import { Card } from '../../ui/page.tsx'
import { CodeBlock } from '../../ui/data/values.tsx'
import { Table } from '../../ui/data/table.tsx'
import { MarkedParagraph, MarkedText } from './marked-text.tsx'

const useTexts = translations({
  shape: ['Formato', 'Format'],
  shapeText: [
    'Todo erro tem o mesmo formato. Decida pelo status HTTP e pelo código no cabeçalho `Guiche-Error`; o texto é para pessoas e pode mudar. Toda resposta traz `X-Request-Id`: informe-o ao falar com a equipe do guiche.',
    'All errors have the same format. Branch on the HTTP status and the code in the `Guiche-Error` header; the text is for humans and may change. Every response has an `X-Request-Id`: include it when you contact the guiche team.',
  ],
  title: ['Códigos de status', 'Status codes'],
  status: ['Status', 'Status'],
  means: ['Significado', 'Meaning'],
  act: ['O que fazer', 'What to do'],
  rows: {
    400: {
      means: ['Um campo é inválido; o texto diz qual.', 'A field is invalid; the text says which.'],
      act: ['Corrija a requisição.', 'Fix the request.'],
    },
    401: {
      means: ['A chave está ausente ou não vale mais.', 'The key is missing or no longer valid.'],
      act: ['Confira a chave em API e webhooks.', 'Check the key in API and webhooks.'],
    },
    403: {
      means: [
        'A chave não tem a permissão, ou a conta está suspensa.',
        'The key lacks a permission, or the account is suspended.',
      ],
      act: ['Use uma chave com a permissão citada no texto.', 'Use a key with the permission in the text.'],
    },
    404: {
      means: ['Não existe ou é de outra conta.', 'It does not exist or belongs to another account.'],
      act: ['Confira o ID.', 'Check the ID.'],
    },
    409: {
      means: [
        'Conflito: `externalId` já usado, ou requisição ainda em andamento.',
        'Conflict: `externalId` is already used, or the request is still in progress.',
      ],
      act: ['Leia o código; com `Retry-After`, repita depois.', 'Read the code; with `Retry-After`, retry later.'],
    },
    422: {
      means: ['`Idempotency-Key` já usada com outro corpo.', '`Idempotency-Key` was used with a different body.'],
      act: ['Use outra chave para outra requisição.', 'Use a new key for a new request.'],
    },
    429: {
      means: ['Requisições demais.', 'Too many requests.'],
      act: ['Espere o tempo de `Retry-After`.', 'Wait for the time in `Retry-After`.'],
    },
    500: {
      means: ['Erro interno.', 'Internal error.'],
      act: ['Repita com a mesma `Idempotency-Key`.', 'Retry with the same `Idempotency-Key`.'],
    },
    502: {
      means: ['O provedor recusou o depósito.', 'The provider declined the deposit.'],
      act: ['Avise a equipe do guiche.', 'Contact the guiche team.'],
    },
    503: {
      means: [
        'Ocupado, reiniciando, ou o provedor não responde.',
        'Busy, restarting, or the provider does not respond.',
      ],
      act: [
        'Repita depois de `Retry-After`, com a mesma `Idempotency-Key`.',
        'Retry after `Retry-After` with the same `Idempotency-Key`.',
      ],
    },
  },
})

const EXAMPLE = JSON.stringify({ success: false, error: 'value must be a positive integer (cents)' }, null, 2)

export function ErrorGuide() {
  const t = useTexts()
  const rows = Object.entries(t.rows).map(([status, texts]) => ({ status, ...texts }))
  return (
    <div className="max-w-3xl space-y-5">
      <Card title={t.shape}>
        <div className="space-y-3">
          <MarkedParagraph>{t.shapeText}</MarkedParagraph>
          <CodeBlock code={EXAMPLE} label={t.shape} />
        </div>
      </Card>
      <Card title={t.title} isFlush>
        <Table
          caption={t.title}
          list={{ rows }}
          rowKey={(row) => row.status}
          columns={[
            { header: t.status, cell: (row) => <b className="figures">{row.status}</b>, width: 'w-20' },
            { header: t.means, cell: (row) => <MarkedText>{row.means}</MarkedText>, isProse: true },
            { header: t.act, cell: (row) => <MarkedText>{row.act}</MarkedText>, isProse: true },
          ]}
        />
      </Card>
    </div>
  )
}
