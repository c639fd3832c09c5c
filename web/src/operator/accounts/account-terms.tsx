import { translations } from '../../base/language.ts'
import type { AccountDetails, OwnTerms } from '../../contract/types.ts'
import { DialogButton } from '../../ui/button.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Card, DetailList, Skeleton } from '../../ui/page.tsx'
import { DateTime } from '../../ui/data/values.tsx'
import { useActorText } from '../labels.tsx'
import { TERMS, useTermLabels, useTermText } from './term-labels.ts'
import { TermsDialog } from './terms-dialog.tsx'

const useTexts = translations({
  title: ['Tarifa e limites', 'Fee and limits'],
  text: [
    'Valem para novas cobranças, e para devoluções do banco a partir de agora.',
    'Apply to new charges, and to reversals from now on.',
  ],
  change: ['Alterar', 'Change'],
  own: ['personalizado', 'custom'],
  default: ['padrão', 'default'],
  history: ['Histórico', 'History'],
  none: ['Nunca alterado: valem os padrões.', 'Never changed: the defaults apply.'],
  allDefault: ['Todos os padrões', 'All defaults'],
  by: ['por', 'by'],
})

export function AccountTerms({ accountId, terms }: { accountId: string; terms: AccountDetails['terms'] | undefined }) {
  const t = useTexts()
  return (
    <Card
      title={t.title}
      text={t.text}
      actions={
        <DialogButton
          size="small"
          disabled={!terms}
          dialog={(onClose) => terms && <TermsDialog accountId={accountId} terms={terms} onClose={onClose} />}
        >
          {t.change}
        </DialogButton>
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
    </Card>
  )
}

function Current({ terms: { own, effective } }: { terms: AccountDetails['terms'] }) {
  const t = useTexts()
  const labels = useTermLabels()
  const textOf = useTermText()
  return (
    <DetailList
      details={TERMS.map((term) => ({
        name: labels[term],
        value: (
          <>
            <span className="figures font-medium">{textOf(term, effective[term])}</span>{' '}
            {own[term] === null ? (
              <span className="block text-sm text-soft">{t.default}</span>
            ) : (
              <Badge tone="mark">{t.own}</Badge>
            )}
          </>
        ),
      }))}
    />
  )
}

function History({ history }: { history: AccountDetails['terms']['history'] }) {
  const t = useTexts()
  const actorText = useActorText()
  if (history.length === 0) return <p className="text-soft">{t.none}</p>
  return (
    <ol className="space-y-4">
      {history.map((change) => (
        <li key={change.validFrom + change.reason} className="border-l-2 border-line pl-3">
          <p className="text-sm text-soft">
            <DateTime at={change.validFrom} /> {t.by} <span className="wrap-anywhere">{actorText(change.setBy)}</span>
          </p>
          <p className="wrap-anywhere">{change.reason}</p>
          <OwnLine own={change.own} />
        </li>
      ))}
    </ol>
  )
}

function OwnLine({ own }: { own: OwnTerms }) {
  const t = useTexts()
  const labels = useTermLabels()
  const textOf = useTermText()
  const set = TERMS.filter((term) => own[term] !== null)
  return (
    <p className="figures text-sm text-soft">
      {set.length === 0 ? t.allDefault : set.map((term) => `${labels[term]}: ${textOf(term, own[term])}`).join(' · ')}
    </p>
  )
}
