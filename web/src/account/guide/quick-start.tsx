import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { translations } from '../../base/language.ts'
import { useMe, useService } from '../../base/session.ts'
import { Card } from '../../ui/page.tsx'
import { CodeBlock } from '../../ui/data/values.tsx'
import { Notice } from '../../ui/notice.tsx'
import { CodeSample, useCodeLanguage } from './code-sample.tsx'
import { MarkedParagraph, MarkedText } from './marked-text.tsx'
import { askSamples, createAnswer, createSamples } from './quick-start-code.ts'

const useTexts = translations({
  base: ['URL da API', 'API base URL'],
  cents: [
    'Valores são inteiros em centavos: 5000 é R$ 50,00. Horários são ISO 8601 em UTC. Toda resposta é JSON com `success`.',
    'Amounts are integers in cents: 5000 is R$ 50.00. Times are ISO 8601 in UTC. Every response is JSON with `success`.',
  ],
  key: ['Crie uma chave', 'Create a key'],
  keyText: [
    'Toda requisição leva uma chave. Ela aparece uma única vez, ao ser criada; guarde-a como uma senha, fora do código.',
    'Every request needs a key. It is shown once, when you create it; store it like a password, outside your code.',
  ],
  keyLink: ['Criar uma chave em API e webhooks', 'Create a key in API and webhooks'],
  create: ['Crie um depósito', 'Create a deposit'],
  createText: [
    '`Idempotency-Key` torna a repetição segura: após um timeout, envie a mesma requisição com a mesma chave e não haverá dois depósitos.',
    '`Idempotency-Key` makes retries safe: after a timeout, send the same request with the same key and there won’t be two deposits.',
  ],
  answer: ['A resposta', 'The response'],
  answerLabel: ['Resposta de exemplo', 'Example response'],
  names: [
    'O depósito se chama `charge` na API e “cobrança” na página do pagador. É a mesma coisa.',
    'The deposit is called `charge` in the API and “charge” on the payer’s page. They are the same.',
  ],
  show: ['Mostre ao pagador', 'Show it to the payer'],
  showText: [
    'Envie o pagador para `paymentLinkUrl`, uma página pronta em três idiomas. Ou mostre você mesmo: `qrCodeLink` é a imagem do QR code, `emv` é o Pix copia e cola.',
    'Send the payer to `paymentLinkUrl`, a ready-made page in three languages. Or show it yourself: `qrCodeLink` is the image of the QR code, `emv` is the code to copy and paste.',
  ],
  test: [
    'No modo de teste, a página de pagamento tem um botão que simula o pagamento.',
    'In test mode, the payment page has a button that simulates the payment.',
  ],
  know: ['Saiba quando foi pago', 'Know when it is paid'],
  knowText: [
    'Use um webhook: avisamos em segundos. Você também pode consultar a qualquer momento; um depósito pendente é conferido no provedor antes da resposta.',
    'Use a webhook: we notify you within seconds. You can also query at any time; a pending deposit is checked with the provider before we respond.',
  ],
  knowLink: ['Como receber e conferir webhooks', 'How to receive and verify webhooks'],
  credited: [
    'Quando pago, `value` menos `fee` entra no seu saldo.',
    'Once paid, `value` minus `fee` is credited to your balance.',
  ],
})

export function QuickStart() {
  const t = useTexts()
  const me = useMe()
  const { publicUrl, mode } = useService()
  const [language, setLanguage] = useCodeLanguage()
  const samples = { chosen: language, onChoose: setLanguage }
  return (
    <div className="max-w-3xl space-y-5">
      <Card title={t.base}>
        <CodeBlock code={publicUrl} label={t.base} />
        <p className="mt-3 text-soft">
          <MarkedText>{t.cents}</MarkedText>
        </p>
      </Card>
      <Step number={1} title={t.key}>
        <MarkedParagraph>{t.keyText}</MarkedParagraph>
        {me.kind === 'account' && (
          <Link to="/developers" className="link inline-block">
            {t.keyLink}
          </Link>
        )}
      </Step>
      <Step number={2} title={t.create}>
        <MarkedParagraph>{t.createText}</MarkedParagraph>
        <CodeSample {...samples} label={t.create} codes={createSamples(publicUrl)} />
        <h3 className="pt-2 font-semibold">{t.answer}</h3>
        <CodeBlock code={createAnswer(publicUrl)} label={t.answerLabel} />
        <MarkedParagraph>{t.names}</MarkedParagraph>
      </Step>
      <Step number={3} title={t.show}>
        <MarkedParagraph>{t.showText}</MarkedParagraph>
        {mode === 'test' && <Notice tone="mark">{t.test}</Notice>}
      </Step>
      <Step number={4} title={t.know}>
        <MarkedParagraph>{t.knowText}</MarkedParagraph>
        <Link to="/guide" search={{ tab: 'webhooks' }} className="link inline-block">
          {t.knowLink}
        </Link>
        <CodeSample {...samples} label={t.know} codes={askSamples(publicUrl)} />
        <MarkedParagraph>{t.credited}</MarkedParagraph>
      </Step>
    </div>
  )
}

function Step({ number, title, children }: { number: number; title: string; children: ReactNode }) {
  return (
    <Card
      title={
        <span className="flex items-center gap-3">
          <span
            aria-hidden="true"
            className="figures flex size-7 items-center justify-center rounded-full bg-good-ground text-sm text-good"
          >
            {number}
          </span>
          {title}
        </span>
      }
    >
      <div className="flex flex-col gap-3 [&>a]:self-start">{children}</div>
    </Card>
  )
}
