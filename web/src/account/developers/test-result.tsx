import { translations } from '../../base/language.ts'
import type { WebhookTest } from '../../contract/types.ts'
import { CodeBlock } from '../../ui/data/values.tsx'
import { useReasonText } from '../../ui/data/delivery-reasons.ts'
import { Notice } from '../../ui/notice.tsx'

const useTexts = translations({
  arrived: ['Evento de teste entregue', 'Test event delivered'],
  refused: ['O webhook recusou o evento de teste', 'The webhook rejected the test event'],
  lost: ['Não foi possível entregar o evento de teste', 'The test event could not be delivered'],
  answered: (status: number, ms: number) => [`Respondeu ${status} em ${ms} ms.`, `Responded ${status} in ${ms} ms.`],
  want: ['Só respostas 2xx contam como entrega.', 'Only 2xx responses count as delivered.'],
  after: (reason: string, ms: number) => [`Depois de ${ms} ms: ${reason}.`, `After ${ms} ms: ${reason}.`],
  excerpt: ['Resposta do webhook', 'Response of the webhook'],
})

export function TestResult({ test }: { test: WebhookTest }) {
  const t = useTexts()
  const reasonText = useReasonText()
  return (
    <div className="space-y-2" role="status">
      <Notice
        tone={test.delivered ? 'good' : 'wait'}
        title={test.delivered ? t.arrived : test.status === null ? t.lost : t.refused}
      >
        {test.status === null
          ? t.after(reasonText({ code: test.errorCode, detail: test.errorDetail, text: test.error }), test.latencyMs)
          : t.answered(test.status, test.latencyMs)}
        {test.status !== null && !test.delivered && ` ${t.want}`}
      </Notice>
      {test.excerpt.trim() !== '' && <CodeBlock label={t.excerpt} code={test.excerpt} />}
    </div>
  )
}
