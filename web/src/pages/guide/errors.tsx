import { words } from '../../base/language.ts'
import { Card } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Table } from '../../ui/table.tsx'
import { Text } from './text.tsx'

const useWords = words({
  'pt-BR': {
    shape: 'A forma',
    shapeText:
      'Todo erro tem a mesma forma. Decida pelo status e pelo código no cabeçalho `Guiche-Error`; o texto é para pessoas e pode mudar. Cada resposta traz `X-Request-Id`: cite-o ao perguntar a quem opera o serviço.',
    title: 'Status',
    status: 'Status',
    means: 'Significa',
    act: 'O que fazer',
    rows: {
      400: ['Um campo está errado; o texto diz qual.', 'Corrija o pedido.'],
      401: ['Falta a chave, ou ela não vale mais.', 'Confira a chave em API e webhooks.'],
      403: [
        'A chave não tem a permissão, ou a conta está suspensa.',
        'Use uma chave com a permissão que o texto cita.',
      ],
      404: ['Não existe, ou é de outra conta.', 'Confira o identificador.'],
      409: [
        'Conflito: `externalId` já usado, ou o pedido ainda em andamento.',
        'Leia o texto; com `Retry-After`, repita depois.',
      ],
      422: ['`Idempotency-Key` já usada com outro corpo.', 'Use outra chave para outro pedido.'],
      429: ['Pedidos demais.', 'Espere o tempo de `Retry-After`.'],
      500: ['Falha nossa.', 'Repita com a mesma `Idempotency-Key`.'],
      502: ['A instituição recusou a cobrança.', 'Avise quem opera o serviço.'],
      503: [
        'Ocupado, reiniciando, ou a instituição não responde.',
        'Repita depois de `Retry-After`, com a mesma `Idempotency-Key`.',
      ],
    },
  },
  en: {
    shape: 'The form',
    shapeText:
      'Every error has the same form. Decide by the status and by the code in the header `Guiche-Error`; the text is for people and may change. Each answer carries `X-Request-Id`: name it when you ask whoever runs the service.',
    title: 'Statuses',
    status: 'Status',
    means: 'Means',
    act: 'What to do',
    rows: {
      400: ['A field is wrong; the text says which.', 'Correct the request.'],
      401: ['The key is missing, or not valid any more.', 'Check the key in API and webhooks.'],
      403: ['The key lacks the scope, or the account is suspended.', 'Use a key with the scope that the text names.'],
      404: ['There is none, or it belongs to another account.', 'Check the identifier.'],
      409: [
        'A conflict: `externalId` is taken, or the request is still in progress.',
        'Read the text; with `Retry-After`, repeat later.',
      ],
      422: ['`Idempotency-Key` was used with another body.', 'Take another key for another request.'],
      429: ['Too many requests.', 'Wait as long as `Retry-After` says.'],
      500: ['Our failure.', 'Repeat with the same `Idempotency-Key`.'],
      502: ['The provider refused the charge.', 'Tell whoever runs the service.'],
      503: [
        'Busy, restarting, or the provider does not answer.',
        'Repeat after `Retry-After`, with the same `Idempotency-Key`.',
      ],
    },
  },
})

const EXAMPLE = JSON.stringify({ success: false, error: 'value must be a positive integer (cents)' }, null, 2)

export function ErrorGuide() {
  const t = useWords()
  const rows = Object.entries(t.rows).map(([status, [means = '', act = '']]) => ({ status, means, act }))
  return (
    <div className="max-w-3xl space-y-5">
      <Card title={t.shape}>
        <div className="space-y-3">
          <p>
            <Text>{t.shapeText}</Text>
          </p>
          <CodeBlock code={EXAMPLE} label={t.shape} />
        </div>
      </Card>
      <Card title={t.title} isFlush>
        <Table
          caption={t.title}
          rows={rows}
          rowKey={(row) => row.status}
          empty={null}
          columns={[
            { key: 'status', header: t.status, cell: (row) => <b className="figures">{row.status}</b>, width: 'w-20' },
            { key: 'means', header: t.means, cell: (row) => <Text>{row.means}</Text>, isProse: true },
            { key: 'act', header: t.act, cell: (row) => <Text>{row.act}</Text>, isProse: true },
          ]}
        />
      </Card>
    </div>
  )
}
