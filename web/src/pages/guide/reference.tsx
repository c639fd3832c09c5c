import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError } from '../../base/api.ts'
import { words } from '../../base/language.ts'
import { useMe } from '../../base/session.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/code-block.tsx'
import { ChevronRightIcon } from '../../ui/icons.tsx'
import type { Tone } from '../../ui/notice.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Failure } from '../../ui/table.tsx'
import { endpointsByTag, exampleText, resolve, typeText, type Document, type Endpoint, type Schema } from './openapi.ts'
import { Text } from './text.tsx'

const useWords = words({
  'pt-BR': {
    parameters: 'Parâmetros',
    body: 'Corpo',
    example: 'Exemplo',
    answers: 'Respostas',
    answer: 'Resposta de exemplo',
    required: 'obrigatório',
    document: 'Esta referência vem do próprio serviço e está em inglês. O documento OpenAPI:',
  },
  en: {
    parameters: 'Parameters',
    body: 'Body',
    example: 'Example',
    answers: 'Answers',
    answer: 'Example answer',
    required: 'required',
    document: 'This reference comes from the service itself. The OpenAPI document:',
  },
})

export function Reference() {
  const t = useWords()
  const me = useMe()
  const document = useQuery({ queryKey: ['openapi'], queryFn: readDocument, staleTime: Number.POSITIVE_INFINITY })
  if (document.error) return <Failure error={document.error} onRetry={() => void document.refetch()} />
  if (!document.data) return <Skeleton className="h-96 w-full rounded-2xl" />
  const groups = endpointsByTag(document.data).filter(({ name }) => name !== 'Operator' || me.kind === 'operator')
  return (
    <div className="max-w-4xl space-y-5">
      <p className="text-soft">
        {t.document}{' '}
        <a href="/openapi.json" className="link">
          openapi.json
        </a>
      </p>
      {groups.map((group) => (
        <div key={group.name} lang="en">
          <Card title={group.name} text={group.description} isFlush>
            <ul className="divide-y divide-line border-t border-line">
              {group.endpoints.map((endpoint) => (
                <EndpointRow key={endpoint.operationId} endpoint={endpoint} document={document.data} />
              ))}
            </ul>
          </Card>
        </div>
      ))}
    </div>
  )
}

async function readDocument({ signal }: { signal: AbortSignal }): Promise<Document> {
  const response = await fetch('/openapi.json', { signal })
  if (!response.ok) throw new ApiError(response.status, 'unknown', `The server answered ${response.status}`)
  return (await response.json()) as Document
}

const TONES: Record<string, Tone> = { GET: 'still', POST: 'good', PATCH: 'wait', DELETE: 'bad' }

function EndpointRow({ endpoint, document }: { endpoint: Endpoint; document: Document }) {
  const [isOpen, setOpen] = useState(location.hash === `#${endpoint.operationId}`)
  return (
    <li id={endpoint.operationId}>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className="flex w-full items-center gap-3 px-5 py-3 text-left -outline-offset-2 hover:bg-hover"
      >
        <ChevronRightIcon className={`size-4 text-soft transition-transform ${isOpen ? 'rotate-90' : ''}`} />
        <span className="grid min-w-0 grow gap-x-3 gap-y-1 sm:grid-cols-[4.5rem_minmax(0,1fr)_auto] sm:items-center">
          <span>
            <Badge tone={TONES[endpoint.method] ?? 'still'}>{endpoint.method}</Badge>
          </span>
          <code className="font-mono text-sm wrap-anywhere">{endpoint.path}</code>
          <span className="text-sm text-soft">{endpoint.summary}</span>
        </span>
      </button>
      {isOpen && <EndpointDetails endpoint={endpoint} document={document} />}
    </li>
  )
}

function EndpointDetails({ endpoint, document }: { endpoint: Endpoint; document: Document }) {
  const t = useWords()
  const body = endpoint.requestBody?.content['application/json']
  const bodyExample = exampleText(document, endpoint.requestBody?.content)
  const [, success] = Object.entries(endpoint.responses).find(([status]) => status.startsWith('2')) ?? []
  const answer = exampleText(document, success?.content)
  return (
    <div className="space-y-4 px-5 pt-1 pb-6 sm:pl-12">
      {endpoint.description && (
        <p>
          <Text>{endpoint.description}</Text>
        </p>
      )}
      {endpoint.parameters && endpoint.parameters.length > 0 && (
        <>
          <h3 className="font-semibold">{t.parameters}</h3>
          <Fields
            fields={endpoint.parameters.map((one) => ({
              ...one,
              place: one.in,
              type: typeText(document, one.schema),
              isRequired: one.required === true,
            }))}
          />
        </>
      )}
      {body?.schema && (
        <>
          <h3 className="font-semibold">{t.body}</h3>
          <Fields fields={fieldsOf(document, body.schema)} />
        </>
      )}
      {bodyExample && <CodeBlock code={bodyExample} label={t.example} />}
      <h3 className="font-semibold">{t.answers}</h3>
      <ul className="space-y-1.5">
        {Object.entries(endpoint.responses).map(([status, response]) => (
          <li key={status} className="flex gap-3">
            <b className={`figures w-9 shrink-0 ${status.startsWith('2') ? 'text-good' : ''}`}>{status}</b>
            <span className="min-w-0">
              <Text>{response.description}</Text>
            </span>
          </li>
        ))}
      </ul>
      {answer && <CodeBlock code={answer} label={t.answer} />}
    </div>
  )
}

type FieldRow = { name: string; type: string; isRequired: boolean; description?: string; place?: string }

function fieldsOf(document: Document, given: Schema): FieldRow[] {
  const schema = resolve(document, given)
  return Object.entries(schema.properties ?? {}).map(([name, below]) => {
    const { description } = resolve(document, below)
    return {
      name,
      type: typeText(document, below),
      isRequired: schema.required?.includes(name) === true,
      ...(description && { description }),
    }
  })
}

function Fields({ fields }: { fields: readonly FieldRow[] }) {
  const t = useWords()
  return (
    <dl className="divide-y divide-line rounded-lg border border-line">
      {fields.map((field) => (
        <div key={`${field.place}-${field.name}`} className="px-4 py-2.5">
          <dt className="flex flex-wrap items-baseline gap-x-2.5">
            <code className="font-mono text-sm font-semibold">{field.name}</code>
            <span className="font-mono text-[0.8125rem] wrap-anywhere text-soft">{field.type}</span>
            {field.place && <span className="text-sm text-soft">{field.place}</span>}
            {field.isRequired && <span className="text-sm font-medium text-wait">{t.required}</span>}
          </dt>
          {field.description && (
            <dd className="mt-0.5">
              <Text>{field.description}</Text>
            </dd>
          )}
        </div>
      ))}
    </dl>
  )
}
