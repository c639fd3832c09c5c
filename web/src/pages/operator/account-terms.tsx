import { useState } from 'react'
import { words } from '../../base/language.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Card, Facts } from '../../ui/card.tsx'
import { DateTime } from '../../ui/date-time.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { useActorText } from './names.tsx'
import type { OwnTerms, Terms } from './shapes.ts'
import { TermsDialog } from './terms-dialog.tsx'
import { TERMS, useTermName, useTermText } from './term-words.ts'

const useWords = words({
  'pt-BR': {
    title: 'Tarifa e limites',
    text: 'Valem para novas cobranças.',
    change: 'Alterar',
    own: 'própria',
    deployment: 'padrão da instalação',
    history: 'Histórico',
    none: 'Nunca alterado: vale tudo como está na instalação.',
    allDeployment: 'Tudo como na instalação',
    by: 'por',
  },
  en: {
    title: 'Fee and limits',
    text: 'For new charges.',
    change: 'Change',
    own: 'its own',
    deployment: 'as the deployment says',
    history: 'History',
    none: 'Never changed: all is as the deployment says.',
    allDeployment: 'All as the deployment says',
    by: 'by',
  },
})

export function AccountTerms({ accountId, terms }: { accountId: string; terms: Terms | undefined }) {
  const t = useWords()
  const [isChanging, setChanging] = useState(false)
  return (
    <Card
      title={t.title}
      text={t.text}
      actions={
        <Button size="small" disabled={!terms} onClick={() => setChanging(true)}>
          {t.change}
        </Button>
      }
    >
      {terms ? (
        <>
          <Current terms={terms} />
          <h3 className="mt-6 mb-2 font-semibold">{t.history}</h3>
          <History history={terms.history} />
        </>
      ) : (
        <Skeleton className="h-[30rem] w-full" />
      )}
      {isChanging && terms && <TermsDialog accountId={accountId} terms={terms} onClose={() => setChanging(false)} />}
    </Card>
  )
}

function Current({ terms: { own, effective } }: { terms: Terms }) {
  const t = useWords()
  const nameOf = useTermName()
  const textOf = useTermText()
  return (
    <Facts
      facts={TERMS.map((term) => ({
        name: nameOf(term),
        value: (
          <>
            <span className="figures font-medium">{textOf(term, effective[term])}</span>{' '}
            {own[term] === null ? (
              <span className="block text-sm text-soft">{t.deployment}</span>
            ) : (
              <Badge tone="mark">{t.own}</Badge>
            )}
          </>
        ),
      }))}
    />
  )
}

function History({ history }: { history: Terms['history'] }) {
  const t = useWords()
  const actorText = useActorText()
  if (history.length === 0) return <p className="text-soft">{t.none}</p>
  return (
    <ol className="space-y-4">
      {history.map((one) => (
        <li key={one.validFrom + one.reason} className="border-l-2 border-line pl-3">
          <p className="text-sm text-soft">
            <DateTime at={one.validFrom} /> {t.by} <span className="wrap-anywhere">{actorText(one.setBy)}</span>
          </p>
          <p className="wrap-anywhere">{one.reason}</p>
          <OwnLine own={one.own} />
        </li>
      ))}
    </ol>
  )
}

function OwnLine({ own }: { own: OwnTerms }) {
  const t = useWords()
  const nameOf = useTermName()
  const textOf = useTermText()
  const set = TERMS.filter((term) => own[term] !== null)
  return (
    <p className="figures text-sm text-soft">
      {set.length === 0
        ? t.allDeployment
        : set.map((term) => `${nameOf(term)}: ${textOf(term, own[term])}`).join(' · ')}
    </p>
  )
}
