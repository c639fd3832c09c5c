import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useFormat } from '../../base/format.ts'
import { translations, useLanguage } from '../../base/language.ts'
import { shareText } from '../../base/money.ts'
import type { Overview, Period } from '../../contract/types.ts'
import { Card, Skeleton } from '../../ui/page.tsx'
import { Money } from '../../ui/data/values.tsx'

type PeriodName = { readonly than: string; readonly during: string }

const useTexts = translations({
  available: ['Saldo disponível', 'Available balance'],
  availableNote: ['Para devoluções e repasses', 'For refunds and payouts'],
  reserved: (money: string) => [`Mais ${money} reservados para repasses`, `Plus ${money} reserved for payouts`],
  held: (money: string) => [`Mais ${money} bloqueados por contestações`, `Plus ${money} set aside for disputes`],
  owed: (money: string) => [
    `Você deve ${money}, que os próximos valores pagam`,
    `You owe ${money}, which the next money pays`,
  ],
  payouts: ['Ver repasses', 'View payouts'],
  today: ['Recebido hoje', 'Received today'],
  last30: ['Recebido nos últimos 30 dias', 'Received in the last 30 days'],
  more: (change: string, than: string) => [`${change} acima ${than}`, `${change} more than ${than}`],
  less: (change: string, than: string) => [`${change} abaixo ${than}`, `${change} less than ${than}`],
  same: (than: string) => [`O mesmo valor ${than}`, `Same as ${than}`],
  nothing: ({ during, than }: PeriodName) => [`Sem recebimentos, como ${during}`, `None yet, same as ${than}`],
  fromNothing: ({ during }: PeriodName) => [`Sem recebimentos ${during}`, `None ${during}`],
  yesterday: {
    than: ['de ontem até esta hora', 'yesterday by this time'],
    during: ['ontem até esta hora', 'yesterday by this time'],
  },
  previous: {
    than: ['dos 30 dias anteriores', 'the previous 30 days'],
    during: ['nos 30 dias anteriores', 'in the previous 30 days'],
  },
  paidOf: (paid: string, created: string) => [`${paid} de ${created} pagos`, `${paid} of ${created} paid`],
})

export function Figures({ overview }: { overview: Overview | undefined }) {
  const t = useTexts()
  const { money } = useFormat()
  return (
    <div className="grid gap-4 sm:grid-cols-2 lg:grid-cols-[1.15fr_1fr_1fr]">
      <Tile
        className="sm:max-lg:col-span-2"
        label={t.available}
        value={overview && <Money cents={overview.available} />}
        isLarge
      >
        <p className={NOTE}>
          {overview && overview.reserved > 0 ? t.reserved(money(overview.reserved)) : t.availableNote}
        </p>
        {overview && overview.held > 0 && (
          <p className={NOTE}>
            <Link to="/disputes" className="link">
              {t.held(money(overview.held))}
            </Link>
          </p>
        )}
        {overview && overview.owed > 0 && <p className="font-medium text-bad">{t.owed(money(overview.owed))}</p>}
        <p className={NOTE}>
          <Link to="/payouts" className="link font-medium">
            {t.payouts}
          </Link>
        </p>
      </Tile>
      <PeriodTile label={t.today} now={overview?.today} before={overview?.yesterdaySoFar} name={t.yesterday} />
      <PeriodTile label={t.last30} now={overview?.last30} before={overview?.previous30.paidValue} name={t.previous} />
    </div>
  )
}

function PeriodTile(props: { label: string; now: Period | undefined; before: number | undefined; name: PeriodName }) {
  const t = useTexts()
  const { language, count } = useFormat()
  const { now, before } = props
  const conversion = now && conversionOf(now)
  return (
    <Tile label={props.label} value={now && <Money cents={now.paidValue} />}>
      <p className={NOTE}>
        {now && before !== undefined ? <Change now={now.paidValue} before={before} name={props.name} /> : <NotePlace />}
      </p>
      <p className={NOTE}>
        {now ? t.paidOf(count(now.paid), count(now.created)) : <NotePlace />}
        {conversion !== undefined && ` · ${shareText(conversion, language)}`}
      </p>
    </Tile>
  )
}

const NOTE = 'figures mt-1 min-h-5 text-sm text-soft'

function NotePlace() {
  return <Skeleton className="h-4 w-48" />
}

function Tile(props: { label: string; value: ReactNode; isLarge?: boolean; className?: string; children: ReactNode }) {
  return (
    <Card {...(props.className && { className: props.className })}>
      <p className="text-sm font-medium text-soft">{props.label}</p>
      <p
        className={`figures mt-1 flex min-h-12 items-center font-semibold tracking-tight wrap-anywhere ${props.isLarge ? 'text-4xl' : 'text-3xl'}`}
      >
        {props.value ?? <Skeleton className="h-8 w-44" />}
      </p>
      {props.children}
    </Card>
  )
}

/** Compares with the period before, in words: colour alone is not enough. */
function Change({ now, before, name }: { now: number; before: number; name: PeriodName }) {
  const t = useTexts()
  const language = useLanguage()
  if (before === 0) return now === 0 ? t.nothing(name) : t.fromNothing(name)
  if (now === before) return t.same(name.than)
  const change = shareText(Math.abs(now - before) / before, language)
  return (
    <span className={now > before ? 'text-good' : 'text-wait'}>
      {now > before ? t.more(change, name.than) : t.less(change, name.than)}
    </span>
  )
}

/** How many of the created deposits were paid. Some are paid a day later, so a quiet day could exceed 100 %. */
export function conversionOf({ created, paid }: Period): number | undefined {
  return created === 0 ? undefined : Math.min(1, paid / created)
}
