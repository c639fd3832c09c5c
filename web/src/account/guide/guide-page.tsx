import type { ReactNode } from 'react'
import { translations, useLanguage } from '../../base/language.ts'
import { buttonClass } from '../../ui/button.tsx'
import { ExternalIcon } from '../../ui/icons.tsx'
import { Page } from '../../ui/page.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { ErrorGuide } from './error-guide.tsx'
import { QuickStart } from './quick-start.tsx'
import { WebhookGuide } from './webhook-guide.tsx'

const useTexts = translations({
  title: ['Documentação', 'Docs'],
  text: ['Do primeiro depósito à conferência dos webhooks.', 'From your first deposit to verified webhooks.'],
  more: ['Guia completo', 'Full guide'],
  reference: ['Referência da API', 'API reference'],
  start: ['Primeiros passos', 'Quickstart'],
  webhooks: ['Webhooks', 'Webhooks'],
  errors: ['Erros', 'Errors'],
})

export function GuidePage() {
  const t = useTexts()
  const language = useLanguage()
  return (
    <Page
      title={t.title}
      text={t.text}
      actions={
        <>
          <PublicPage address={`/docs?lang=${language}`}>{t.more}</PublicPage>
          <PublicPage address="/docs/reference">{t.reference}</PublicPage>
        </>
      }
    >
      <Tabs
        label={t.title}
        tabs={[
          { value: 'start', label: t.start, content: <QuickStart /> },
          { value: 'webhooks', label: t.webhooks, content: <WebhookGuide /> },
          { value: 'errors', label: t.errors, content: <ErrorGuide /> },
        ]}
      />
    </Page>
  )
}

function PublicPage({ address, children }: { address: string; children: ReactNode }) {
  return (
    <a href={address} target="_blank" rel="noreferrer" className={buttonClass({ size: 'small' })}>
      {children}
      <ExternalIcon className="size-4" />
    </a>
  )
}
