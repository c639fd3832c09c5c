import { translations } from '../../base/language.ts'
import { Card } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/data/code-block.tsx'
import { Table } from '../../ui/data/table.tsx'
import { MarkedParagraph, MarkedText } from './marked-text.tsx'

const useTexts = translations({
  'pt-BR': {
    shape: 'Formato',
    shapeText:
      'Todo erro tem o mesmo formato. Decida pelo status HTTP e pelo código no cabeçalho `Guiche-Error`; o texto é para pessoas e pode mudar. Toda resposta traz `X-Request-Id`: informe-o ao falar com a equipe do guiche.',
    title: 'Códigos de status',
    status: 'Status',
    means: 'Significado',
    act: 'O que fazer',
    rows: {
      400: ['Um campo é inválido; o texto diz qual.', 'Corrija a requisição.'],
      401: ['A chave está ausente ou não vale mais.', 'Confira a chave em API e webhooks.'],
      403: ['A chave não tem a permissão, ou a conta está suspensa.', 'Use uma chave com a permissão citada no texto.'],
      404: ['Não existe ou é de outra conta.', 'Confira o ID.'],
      409: [
        'Conflito: `externalId` já usado, ou requisição ainda em andamento.',
        'Leia o código; com `Retry-After`, repita depois.',
      ],
      422: ['`Idempotency-Key` já usada com outro corpo.', 'Use outra chave para outra requisição.'],
      429: ['Requisições demais.', 'Espere o tempo de `Retry-After`.'],
      500: ['Erro interno.', 'Repita com a mesma `Idempotency-Key`.'],
      502: ['O provedor recusou o depósito.', 'Avise a equipe do guiche.'],
      503: [
        'Ocupado, reiniciando, ou o provedor não responde.',
        'Repita depois de `Retry-After`, com a mesma `Idempotency-Key`.',
      ],
    },
  },
  en: {
    shape: 'Format',
    shapeText:
      'All errors have the same format. Branch on the HTTP status and the code in the `Guiche-Error` header; the text is for humans and may change. Every response has an `X-Request-Id`: include it when you contact the guiche team.',
    title: 'Status codes',
    status: 'Status',
    means: 'Meaning',
    act: 'What to do',
    rows: {
      400: ['A field is invalid; the text says which.', 'Fix the request.'],
      401: ['The key is missing or no longer valid.', 'Check the key in API and webhooks.'],
      403: ['The key lacks a permission, or the account is suspended.', 'Use a key with the permission in the text.'],
      404: ['It does not exist or belongs to another account.', 'Check the ID.'],
      409: [
        'Conflict: `externalId` is already used, or the request is still in progress.',
        'Read the code; with `Retry-After`, retry later.',
      ],
      422: ['`Idempotency-Key` was used with a different body.', 'Use a new key for a new request.'],
      429: ['Too many requests.', 'Wait for the time in `Retry-After`.'],
      500: ['Internal error.', 'Retry with the same `Idempotency-Key`.'],
      502: ['The provider declined the deposit.', 'Contact the guiche team.'],
      503: [
        'Busy, restarting, or the provider does not respond.',
        'Retry after `Retry-After` with the same `Idempotency-Key`.',
      ],
    },
  },
})

const EXAMPLE = JSON.stringify({ success: false, error: 'value must be a positive integer (cents)' }, null, 2)

export function ErrorGuide() {
  const t = useTexts()
  const rows = Object.entries(t.rows).map(([status, [means = '', act = '']]) => ({ status, means, act }))
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
