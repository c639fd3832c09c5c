import { Link } from '@tanstack/react-router'
import receiverPhp from '../../../../sdk/examples/receiver.php?raw'
import receiverPy from '../../../../sdk/examples/receiver.py?raw'
import { words } from '../../base/language.ts'
import { useMe } from '../../base/session.ts'
import { Card } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { depositEvent, receiverJs, refundEvent } from './webhook-code.ts'
import { Sample, useCodeLanguage } from './sample.tsx'
import { Text } from './text.tsx'

const useWords = words({
  'pt-BR': {
    how: 'Como funciona',
    howText:
      'Quando algo acontece, mandamos um POST com JSON para o endereço que você cadastrou. Ao salvar, um `WEBHOOK_TEST` mostra se ele chega.',
    add: 'Cadastrar um webhook',
    rules: [
      'Responda 2xx em até 15 segundos e trabalhe depois. Qualquer outra resposta, redirecionamentos inclusive, conta como falha.',
      'Repetimos após 5 s, 1 min, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h e 24 h, com ±20 %. `Retry-After` é respeitado.',
      'Pode chegar mais de uma vez e fora de ordem: guarde `webhook-id` numa coluna única e confie em `paidAt`.',
      '410, ou cinco dias só de falhas, desativa o webhook. Em API e webhooks você o reativa e reenvia o que faltou.',
    ],
    verify: 'Confira a assinatura',
    verifyText:
      'Qualquer um pode mandar algo parecido para o seu endereço. Acredite só no que a assinatura cobre: HMAC-SHA256 sobre `webhook-id`, `webhook-timestamp` e os bytes do corpo, antes de qualquer parser de JSON, como diz a especificação Standard Webhooks. A chave é o `whsec_…` mostrado ao cadastrar.',
    events: 'Eventos',
    deposit: 'Um depósito foi pago e creditado.',
    refund: 'Uma devolução chegou ao pagador.',
    testEvent: 'Só um teste; responda 2xx.',
    unknown: 'Novos tipos podem surgir: responda 2xx ao que não conhece.',
  },
  en: {
    how: 'How it works',
    howText:
      'When something happens, we POST JSON to the address that you added. On saving, a `WEBHOOK_TEST` shows whether it arrives.',
    add: 'Add a webhook',
    rules: [
      'Answer 2xx within 15 seconds and work later. Every other answer, redirects included, counts as a failure.',
      'We repeat after 5 s, 1 min, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, ±20 %. `Retry-After` is honoured.',
      'It may come more than once and in any order: keep `webhook-id` in a unique column, and go by `paidAt`.',
      '410, or five days of nothing but failures, disables the webhook. In API and webhooks you enable it again and resend what was missed.',
    ],
    verify: 'Verify the signature',
    verifyText:
      'Anybody can send something like it to your address. Believe only what the signature covers: HMAC-SHA256 over `webhook-id`, `webhook-timestamp` and the bytes of the body, before any JSON parser, as the Standard Webhooks specification says. The key is the `whsec_…` that is shown when you add the webhook.',
    events: 'Events',
    deposit: 'A deposit was paid and credited.',
    refund: 'A refund has gone to the payer.',
    testEvent: 'A test and nothing else; answer 2xx.',
    unknown: 'New kinds may come: answer 2xx to those you do not know.',
  },
})

export function WebhookGuide() {
  const t = useWords()
  const me = useMe()
  const [language, setLanguage] = useCodeLanguage()
  return (
    <div className="max-w-3xl space-y-5">
      <Card title={t.how}>
        <div className="space-y-3">
          <p>
            <Text>{t.howText}</Text>
          </p>
          <ul className="list-disc space-y-1.5 pl-5">
            {t.rules.map((rule) => (
              <li key={rule}>
                <Text>{rule}</Text>
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
          <p>
            <Text>{t.verifyText}</Text>
          </p>
          <Sample
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
          <p className="pt-2 text-soft">{t.unknown}</p>
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
