import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { words } from '../../base/language.ts'
import { useMe, useService } from '../../base/session.ts'
import { Card } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Notice } from '../../ui/notice.tsx'
import { askSamples, createAnswer, createSamples } from './quick-start-code.ts'
import { Sample, useCodeLanguage } from './sample.tsx'
import { Text } from './text.tsx'

const useWords = words({
  'pt-BR': {
    base: 'Endereço da API',
    cents:
      'Valores são inteiros em centavos: 5000 é R$ 50,00. Horas são ISO 8601 em UTC. Toda resposta é JSON, com `success`.',
    key: 'Crie uma chave',
    keyText:
      'Cada chamada leva uma chave. Ela aparece uma única vez, quando é criada; guarde-a como uma senha, fora do código.',
    keyLink: 'Criar uma chave em API e webhooks',
    create: 'Peça um depósito',
    createText:
      'O `Idempotency-Key` torna a repetição segura: depois de um timeout, mande o mesmo pedido com a mesma chave e não haverá dois depósitos.',
    answer: 'A resposta',
    answerLabel: 'Resposta de exemplo',
    show: 'Mostre ao pagador',
    showText:
      'Mande-o para `paymentLinkUrl`, uma página pronta, em três idiomas. Ou mostre você mesmo: `qrCodeLink` é a imagem do código QR, `emv` é o Pix copia e cola.',
    test: 'No modo de teste, a página de pagamento tem um botão que paga como o banco pagaria.',
    know: 'Saiba que foi pago',
    knowText:
      'O melhor caminho é um webhook: avisamos em segundos. E a qualquer momento você pode perguntar; um depósito pendente é conferido na instituição antes de respondermos.',
    knowLink: 'Como receber e conferir webhooks',
    credited: 'Pago: `value` menos `fee` entra no seu saldo.',
  },
  en: {
    base: 'Address of the API',
    cents:
      'Amounts are integers in cents: 5000 is R$ 50.00. Times are ISO 8601 in UTC. Every answer is JSON, with `success`.',
    key: 'Make a key',
    keyText: 'Each call carries a key. It is shown once, when it is made; keep it like a password, out of your code.',
    keyLink: 'Make a key in API and webhooks',
    create: 'Ask for a deposit',
    createText:
      'The `Idempotency-Key` makes it safe to repeat: after a time-out, send the same request with the same key and there will not be two deposits.',
    answer: 'The answer',
    answerLabel: 'Example answer',
    show: 'Show it to the payer',
    showText:
      'Send them to `paymentLinkUrl`, a finished page in three languages. Or show it yourself: `qrCodeLink` is the picture of the QR code, `emv` the code to copy and paste.',
    test: 'In test mode the payment page has a button that pays as a bank would.',
    know: 'Learn that it was paid',
    knowText:
      'The best way is a webhook: we tell you within seconds. And you can ask at any time; a pending deposit is checked with the provider before we answer.',
    knowLink: 'How to receive and verify webhooks',
    credited: 'Paid: `value` minus `fee` is credited to your balance.',
  },
})

export function QuickStart() {
  const t = useWords()
  const me = useMe()
  const { publicUrl, mode } = useService()
  const [language, setLanguage] = useCodeLanguage()
  const samples = { chosen: language, onChoose: setLanguage }
  return (
    <div className="max-w-3xl space-y-5">
      <Card title={t.base}>
        <CodeBlock code={publicUrl} label={t.base} />
        <p className="mt-3 text-soft">
          <Text>{t.cents}</Text>
        </p>
      </Card>
      <Step number={1} title={t.key}>
        <p>
          <Text>{t.keyText}</Text>
        </p>
        {me.kind === 'account' && (
          <Link to="/developers" className="link inline-block">
            {t.keyLink}
          </Link>
        )}
      </Step>
      <Step number={2} title={t.create}>
        <p>
          <Text>{t.createText}</Text>
        </p>
        <Sample {...samples} label={t.create} codes={createSamples(publicUrl)} />
        <h3 className="pt-2 font-semibold">{t.answer}</h3>
        <CodeBlock code={createAnswer(publicUrl)} label={t.answerLabel} />
      </Step>
      <Step number={3} title={t.show}>
        <p>
          <Text>{t.showText}</Text>
        </p>
        {mode === 'test' && <Notice tone="mark">{t.test}</Notice>}
      </Step>
      <Step number={4} title={t.know}>
        <p>
          <Text>{t.knowText}</Text>
        </p>
        <Link to="/guide" search={{ tab: 'webhooks' }} className="link inline-block">
          {t.knowLink}
        </Link>
        <Sample {...samples} label={t.know} codes={askSamples(publicUrl)} />
        <p>
          <Text>{t.credited}</Text>
        </p>
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
