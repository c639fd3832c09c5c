import { Link } from '@tanstack/react-router'
import receiverPhp from '../../../../sdk/examples/receiver.php?raw'
import receiverPy from '../../../../sdk/examples/receiver.py?raw'
import { translations } from '../../base/language.ts'
import { useMe } from '../../base/session.ts'
import { EVENTS } from '../../contract/codes.ts'
import { EVENT_EXAMPLES } from '../../contract/events.ts'
import { useEventSummary } from '../developers/webhook-events.ts'
import { Card } from '../../ui/page.tsx'
import { CodeBlock } from '../../ui/data/values.tsx'
import { CodeSample, useCodeLanguage } from './code-sample.tsx'
import { MarkedParagraph, MarkedText } from './marked-text.tsx'

const useTexts = translations({
  how: ['Como funciona', 'How it works'],
  howText: [
    'A cada evento, enviamos um POST com JSON para a URL que você adicionou. Ao salvar, um `WEBHOOK_TEST` mostra se ela responde.',
    'For each event, we POST JSON to the URL you added. When you save it, a `WEBHOOK_TEST` shows whether it responds.',
  ],
  add: ['Adicionar um webhook', 'Add a webhook'],
  rules: {
    respond: [
      'Responda 2xx em até 15 segundos e processe depois. Qualquer outra resposta, inclusive redirecionamentos, conta como falha.',
      'Respond 2xx within 15 seconds and process later. Any other response, including redirects, counts as a failure.',
    ],
    retries: [
      'Tentamos de novo após 5 s, 1 min, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h e 24 h, com ±20 %. `Retry-After` é respeitado.',
      'We retry after 5 s, 1 min, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, ±20 %. `Retry-After` is honoured.',
    ],
    repeats: [
      'Um evento pode chegar mais de uma vez e fora de ordem: guarde `webhook-id` numa coluna única e use `paidAt`.',
      'An event may arrive more than once and out of order: store `webhook-id` in a unique column and use `paidAt`.',
    ],
    disabled: [
      'Uma resposta 410, ou cinco dias só de falhas, desativa o webhook. Em API e webhooks você o reativa e reenvia o que faltou.',
      'A 410 response, or five days of failures only, disables the webhook. Enable it again in API and webhooks and resend what it missed.',
    ],
  },
  verify: ['Confira a assinatura', 'Verify the signature'],
  verifyText: [
    'Qualquer um pode enviar algo parecido para a sua URL. Confie só no que a assinatura cobre: HMAC-SHA256 sobre `webhook-id`, `webhook-timestamp` e os bytes do corpo, antes de qualquer parser de JSON, como na especificação Standard Webhooks. A chave é o `whsec_…` mostrado ao adicionar o webhook.',
    'Anyone can send something similar to your URL. Trust only what the signature covers: HMAC-SHA256 over `webhook-id`, `webhook-timestamp` and the bytes of the body, before any JSON parser, as in the Standard Webhooks specification. The key is the `whsec_…` shown when you add the webhook.',
  ],
  events: ['Eventos', 'Events'],
  deposit: ['Um depósito foi pago e creditado.', 'A deposit was paid and credited.'],
  refund: ['Uma devolução foi feita ao pagador.', 'A refund was made to the payer.'],
  testEvent: ['Um teste; responda 2xx.', 'A test; respond 2xx.'],
  others: [
    'Para cada webhook, você escolhe o que mais ele recebe. Para creditar pedidos basta `DEPOSIT_ASSET_SUCCESS`. Para avisar o cliente quando o valor veio errado, escolha também `DEPOSIT_HELD` e `DEPOSIT_RELEASED`; para liberar o estoque, `DEPOSIT_EXPIRED` e `DEPOSIT_CANCELED`.',
    'For each webhook, you choose what else it gets. To credit orders, `DEPOSIT_ASSET_SUCCESS` is enough. To tell a customer that the amount was wrong, also choose `DEPOSIT_HELD` and `DEPOSIT_RELEASED`; to release stock, `DEPOSIT_EXPIRED` and `DEPOSIT_CANCELED`.',
  ],
  catalogue: ['Ver todos os eventos e enviar exemplos', 'View all events and send examples'],
  unknown: [
    'Novos eventos podem surgir: responda 2xx aos que não conhece.',
    'New events may be added: respond 2xx to those you don’t know.',
  ],
})

export function WebhookGuide() {
  const t = useTexts()
  const me = useMe()
  const summary = useEventSummary()
  const [language, setLanguage] = useCodeLanguage()
  return (
    <div className="max-w-3xl space-y-5">
      <Card title={t.how}>
        <div className="space-y-3">
          <MarkedParagraph>{t.howText}</MarkedParagraph>
          <ul className="list-disc space-y-1.5 pl-5">
            {Object.values(t.rules).map((rule) => (
              <li key={rule}>
                <MarkedText>{rule}</MarkedText>
              </li>
            ))}
          </ul>
          {me.kind === 'account' && (
            <Link to="/developers" className="link">
              {t.add}
            </Link>
          )}
        </div>
      </Card>
      <Card title={t.verify}>
        <div className="space-y-3">
          <MarkedParagraph>{t.verifyText}</MarkedParagraph>
          <CodeSample
            chosen={language}
            onChoose={setLanguage}
            label={t.verify}
            codes={{ javascript: receiverJs, python: receiverPy, php: receiverPhp }}
          />
        </div>
      </Card>
      <Card title={t.events}>
        <div className="space-y-3">
          <EventSample name="DEPOSIT_ASSET_SUCCESS" text={t.deposit} code={depositEvent} />
          <EventSample name="DEPOSIT_REFUNDED" text={t.refund} code={refundEvent} />
          <EventSample name="WEBHOOK_TEST" text={t.testEvent} />
          <MarkedParagraph>{t.others}</MarkedParagraph>
          <dl className="space-y-2">
            {OTHER_EVENTS.map((kind) => (
              <div key={kind}>
                <dt className="font-mono text-sm font-semibold break-words">{kind}</dt>
                <dd>{summary(kind)}</dd>
              </div>
            ))}
          </dl>
          <p className="pt-2 text-soft">{t.unknown}</p>
          {me.kind === 'account' && (
            <Link to="/developers/$" params={{ _splat: 'events' }} className="link">
              {t.catalogue}
            </Link>
          )}
        </div>
      </Card>
    </div>
  )
}

function EventSample({ name, text, code }: { name: string; text: string; code?: string }) {
  return (
    <div className="space-y-2 pt-1">
      <h3 className="font-mono text-sm font-semibold">{name}</h3>
      <p>{text}</p>
      {code && <CodeBlock code={code} label={name} />}
    </div>
  )
}

const receiverJs = `// npm install express standardwebhooks
import express from 'express'
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.WEBHOOK_SECRET) // whsec_…
const app = express()

// The signature is over the raw bytes, so no JSON parser may come first.
const raw = express.raw({ type: 'application/json' })

app.post('/webhooks/guiche', raw, (request, response) => {
  let event
  try {
    event = webhook.verify(request.body, request.headers)
  } catch {
    return response.sendStatus(400)
  }
  // Insert the header webhook-id into a table with a unique column:
  // where it is there already, the work is done.
  if (event.event === 'DEPOSIT_ASSET_SUCCESS') {
    console.log(event.data.creditedValue, 'cents credited')
  }
  response.sendStatus(204)
})
app.listen(3001)
`

// Those that the samples leave out.
const OTHER_EVENTS = EVENTS.filter((kind) => kind !== 'DEPOSIT_ASSET_SUCCESS' && kind !== 'DEPOSIT_REFUNDED')

const depositEvent = JSON.stringify(EVENT_EXAMPLES.DEPOSIT_ASSET_SUCCESS, null, 2)
const refundEvent = JSON.stringify(EVENT_EXAMPLES.DEPOSIT_REFUNDED, null, 2)
