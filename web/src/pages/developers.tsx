import { Link, useParams } from '@tanstack/react-router'
import { words } from '../base/language.ts'
import { ButtonLink } from '../ui/button.tsx'
import { Page } from '../ui/page.tsx'
import { Empty } from '../ui/table.tsx'
import { Deliveries } from './developers/deliveries.tsx'
import { DeliveryPage } from './developers/delivery.tsx'
import { Keys } from './developers/keys.tsx'
import { Webhooks } from './developers/webhooks.tsx'

const useWords = words({
  'pt-BR': {
    title: 'API e webhooks',
    text: 'Uma chave pede depósitos; um webhook avisa quando são pagos.',
    parts: 'Partes desta seção',
    keys: 'Chaves de API',
    webhooks: 'Webhooks',
    deliveries: 'Entregas',
    notFound: 'Esta página não existe',
    back: 'Ir para API e webhooks',
  },
  en: {
    title: 'API and webhooks',
    text: 'A key asks for deposits; a webhook tells when they are paid.',
    parts: 'Parts of this section',
    keys: 'API keys',
    webhooks: 'Webhooks',
    deliveries: 'Deliveries',
    notFound: 'This page does not exist',
    back: 'Go to API and webhooks',
  },
})

const PARTS = new Map([
  ['', <Keys key="keys" />],
  ['webhooks', <Webhooks key="webhooks" />],
  ['deliveries', <Deliveries key="deliveries" />],
])

/** One section with parts; which one is the rest of the path. */
export function DevelopersPage() {
  const t = useWords()
  const { _splat: rest = '' }: { _splat?: string } = useParams({ strict: false })
  const [part = '', eventId, endpointId, ...more] = rest.split('/').filter((piece) => piece !== '')
  if (part === 'deliveries' && eventId && endpointId && more.length === 0)
    return <DeliveryPage key={rest} eventId={eventId} endpointId={endpointId} />
  const content = eventId === undefined ? PARTS.get(part) : undefined
  if (!content) return <Empty title={t.notFound} action={<ButtonLink to="/developers">{t.back}</ButtonLink>} />
  return (
    <Page title={t.title} text={t.text}>
      <nav aria-label={t.parts} className="flex gap-1 overflow-x-auto border-b border-line">
        <PartLink to="/developers" label={t.keys} />
        <PartLink to="/developers/webhooks" label={t.webhooks} />
        <PartLink to="/developers/deliveries" label={t.deliveries} />
      </nav>
      {content}
    </Page>
  )
}

/** Looks like a tab, and is a link: each part has an address. */
function PartLink({ to, label }: { to: string; label: string }) {
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
