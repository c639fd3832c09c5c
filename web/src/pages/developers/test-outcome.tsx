import { words } from '../../base/language.ts'
import { CodeBlock } from '../../ui/code-block.tsx'
import { Notice } from '../../ui/notice.tsx'
import { useReason } from './reasons.ts'
import type { TestResult } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    arrived: 'O evento de teste chegou',
    refused: 'O destino não aceitou o evento de teste',
    lost: 'O evento de teste não chegou',
    answered: (status: number, ms: number) => `Respondeu ${status} em ${ms} ms.`,
    want: 'Só uma resposta 2xx conta como entregue.',
    after: (reason: string, ms: number) => `Depois de ${ms} ms: ${reason}.`,
    excerpt: 'Resposta do destino',
  },
  en: {
    arrived: 'The test event arrived',
    refused: 'The receiver did not take the test event',
    lost: 'The test event did not arrive',
    answered: (status: number, ms: number) => `It answered ${status} in ${ms} ms.`,
    want: 'Only an answer of 2xx counts as delivered.',
    after: (reason: string, ms: number) => `After ${ms} ms: ${reason}.`,
    excerpt: 'What the receiver answered',
  },
})

/** What came of a WEBHOOK_TEST. */
export function TestOutcome({ test }: { test: TestResult }) {
  const t = useWords()
  const reasonText = useReason()
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
