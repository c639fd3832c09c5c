import { useFilters } from '../base/filters.ts'
import { words } from '../base/language.ts'
import { buttonLook } from '../ui/button.tsx'
import { ExternalIcon } from '../ui/icons.tsx'
import { Page } from '../ui/page.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { ErrorGuide } from './guide/errors.tsx'
import { QuickStart } from './guide/quick-start.tsx'
import { Reference } from './guide/reference.tsx'
import { WebhookGuide } from './guide/webhooks.tsx'

const useWords = words({
  'pt-BR': {
    title: 'Documentação',
    text: 'Do primeiro depósito ao webhook conferido.',
    apiReference: 'Referência completa da API',
    start: 'Primeiros passos',
    webhooks: 'Webhooks',
    errors: 'Erros',
    reference: 'Referência',
  },
  en: {
    title: 'Docs',
    text: 'From the first deposit to the verified webhook.',
    apiReference: 'Full API reference',
    start: 'Quick start',
    webhooks: 'Webhooks',
    errors: 'Errors',
    reference: 'Reference',
  },
})

export function GuidePage() {
  const t = useWords()
  const filters = useFilters(['tab'])
  return (
    <Page
      title={t.title}
      text={t.text}
      actions={
        <a href="/docs" target="_blank" rel="noreferrer" className={buttonLook({ size: 'small' })}>
          {t.apiReference}
          <ExternalIcon className="size-4" />
        </a>
      }
    >
      <Tabs
        label={t.title}
        value={filters.values.tab || 'start'}
        onChange={(tab) => filters.set({ tab: tab === 'start' ? '' : tab })}
        tabs={[
          { value: 'start', label: t.start, content: <QuickStart /> },
          { value: 'webhooks', label: t.webhooks, content: <WebhookGuide /> },
          { value: 'errors', label: t.errors, content: <ErrorGuide /> },
          { value: 'reference', label: t.reference, content: <Reference /> },
        ]}
      />
    </Page>
  )
}
