import { Link, Navigate, useParams } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { translations } from '../../base/language.ts'
import { useMay } from '../../base/session.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { Empty, Page } from '../../ui/page.tsx'
import { EventCatalogue } from '../events/event-catalogue.tsx'
import { RequestPage } from '../requests/request-page.tsx'
import { Requests } from '../requests/requests.tsx'
import { Deliveries } from './deliveries.tsx'
import { DeliveryPage } from './delivery-page.tsx'
import { Keys } from './keys.tsx'
import { WebhookPage } from './webhook-page.tsx'
import { Webhooks } from './webhooks.tsx'

const useTexts = translations({
  title: ['API e webhooks', 'API and webhooks'],
  text: [
    'Chaves criam depósitos; webhooks avisam quando são pagos.',
    'Keys create deposits; webhooks tell you when they are paid.',
  ],
  tabs: ['Seções', 'Sections'],
  keys: ['Chaves de API', 'API keys'],
  webhooks: ['Webhooks', 'Webhooks'],
  deliveries: ['Entregas', 'Deliveries'],
  events: ['Eventos', 'Events'],
  requests: ['Requisições', 'Requests'],
  notFound: ['Página não encontrada', 'Page not found'],
  back: ['Ir para API e webhooks', 'Go to API and webhooks'],
})

const TABS = new Map([
  ['', <KeysOrDeliveries key="keys" />],
  ['webhooks', <Webhooks key="webhooks" />],
  ['deliveries', <Deliveries key="deliveries" />],
  ['events', <EventCatalogue key="events" />],
  ['requests', <Requests key="requests" />],
])

/** One page with tabs: the rest of the path names the tab. */
export function DevelopersPage() {
  const t = useTexts()
  const { _splat: rest = '' }: { _splat?: string } = useParams({ strict: false })
  const [tab = '', id, webhookId, ...more] = rest.split('/').filter((segment) => segment !== '')
  if (tab === 'deliveries' && id && webhookId && more.length === 0)
    return <DeliveryPage key={rest} eventId={id} webhookId={webhookId} />
  if (tab === 'webhooks' && id && webhookId === undefined) return <WebhookPage key={rest} webhookId={id} />
  if (tab === 'requests' && id && webhookId === undefined) return <RequestPage key={rest} requestId={id} />
  const content = id === undefined ? TABS.get(tab) : undefined
  if (!content) return <Empty title={t.notFound} action={<ButtonLink to="/developers">{t.back}</ButtonLink>} />
  return (
    <Page title={t.title} text={t.text}>
      <Tabs />
      {content}
    </Page>
  )
}

/** On a phone they scroll, and the chosen one is in sight. */
function Tabs() {
  const t = useTexts()
  const may = useMay()
  const tabs = useRef<HTMLElement>(null)
  useEffect(() => {
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' })
  }, [])
  return (
    <nav ref={tabs} aria-label={t.tabs} className="flex gap-1 overflow-x-auto border-b border-line">
      {may('keys:read') && <TabLink to="/developers" label={t.keys} />}
      {may('webhooks:read') && <TabLink to="/developers/webhooks" label={t.webhooks} />}
      <TabLink to="/developers/deliveries" label={t.deliveries} />
      <TabLink to="/developers/events" label={t.events} />
      {may('keys:read') && <TabLink to="/developers/requests" label={t.requests} />}
    </nav>
  )
}

/** Who may not see the keys begins at the deliveries. */
function KeysOrDeliveries() {
  const may = useMay()
  return may('keys:read') ? <Keys /> : <Navigate to="/developers/$" params={{ _splat: 'deliveries' }} replace />
}

function TabLink({ to, label }: { to: string; label: string }) {
  return (
    <Link
      to={to}
      activeOptions={{ exact: true, includeSearch: false }}
      className="-mb-px flex min-h-11 shrink-0 items-center border-b-2 border-transparent px-3 font-medium text-soft -outline-offset-2 hover:text-ink"
      activeProps={{ className: 'border-accent! text-ink!' }}
    >
      {label}
    </Link>
  )
}
