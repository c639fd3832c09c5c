import type { ReactNode } from 'react'
import { translations, usePair } from '../base/language.ts'
import type { Pair } from '../base/pair.ts'
import { useMe } from '../base/session.ts'
import { EXCEPTION_STATES } from '../contract/codes.ts'
import type { Found, Me } from '../contract/types.ts'
import { StateBadge, useLabels } from '../operator/labels.tsx'
import { ChargeStatus, isStatus, Status } from '../ui/badge.tsx'
import { useEventName } from '../ui/data/event-names.ts'
import { DateTime, Money } from '../ui/data/values.tsx'
import * as icons from '../ui/icons.tsx'
import { matchPlaces, type Place } from './match-places.ts'
import { placeOf } from './results.ts'

/** A line of the list, and what it opens. */
export type Entry = {
  key: string
  content: ReactNode
  act: { to: string; search?: Record<string, string> } | (() => void)
}
type Group = { name: string; title: Pair; entries: Entry[] }

/** More pages and actions than this are not what was searched for. */
const MAX_PLACES = 6
const MAX_RECENT = 5

// In memory, so that nothing of it is left for who signs in after.
let recent: Entry[] = []

/** The last pages opened come first when nothing is typed. Below them are the actions. */
export function noteOpened(entry: Entry): void {
  const { act } = entry
  if (typeof act === 'function' || act.search?.['open'] || act.search?.['search']) return
  recent = [entry, ...recent.filter(({ key }) => key !== entry.key)].slice(0, MAX_RECENT)
}

type Kind = Found['kind']

const ICONS: Record<Kind, icons.Icon> = {
  account: icons.PeopleIcon,
  deposit: icons.DepositIcon,
  payment: icons.BankIcon,
  refund: icons.ArrowLeftIcon,
  exception: icons.WarningIcon,
  payout: icons.PayoutIcon,
  event: icons.LogIcon,
}

const TITLES: Record<Kind, Pair> = {
  account: ['Contas', 'Accounts'],
  deposit: ['Depósitos', 'Deposits'],
  payment: ['Pix recebidos', 'Pix received'],
  refund: ['Devoluções', 'Refunds'],
  exception: ['Exceções', 'Exceptions'],
  payout: ['Repasses', 'Payouts'],
  event: ['Eventos', 'Events'],
}
/** What operators call deposits. */
const CHARGES: Pair = ['Cobranças', 'Charges']

const useTexts = translations({
  account: (text: string) => [`Ver todos os depósitos com “${text}”`, `Show all deposits with “${text}”`],
  operator: (text: string) => [`Ver todas as cobranças com “${text}”`, `Show all charges with “${text}”`],
})

/** What the list shows, in groups: for a text what fits it, and without one what was opened last, and the actions. */
export function useEntries(given: {
  text: string
  pages: readonly Place[]
  actions: readonly Place[]
  results: readonly Found[]
}): Group[] {
  const { text, pages, actions, results } = given
  const t = useTexts()
  const inLanguage = usePair()
  const { kind: who } = useMe()
  const inWords = useWords()
  const ofPlace = (place: Place): Entry => placeEntry(place, inLanguage(place.label))
  if (text === '')
    return filled([
      { name: 'recent', title: ['Abertos há pouco', 'Opened lately'], entries: recent },
      { name: 'actions', title: ['Ações', 'Actions'], entries: actions.map(ofPlace) },
    ])
  const kinds = [...new Set(results.map(({ kind }) => kind))]
  const places = matchPlaces([...pages, ...actions], text).slice(0, MAX_PLACES)
  const list = who === 'operator' ? '/operator/deposits' : '/deposits'
  const all: Entry = {
    key: `all ${text}`,
    act: { to: list, search: { search: text } },
    content: <Line icon={icons.SearchIcon} title={t[who](text)} />,
  }
  return filled([
    { name: 'places', title: ['Ir para', 'Go to'], entries: places.map(ofPlace) },
    ...kinds.map((kind) => ({
      name: kind,
      title: kind === 'deposit' && who === 'operator' ? CHARGES : TITLES[kind],
      entries: results.filter((result) => result.kind === kind).map((result) => resultEntry(who, inWords(result))),
    })),
    { name: 'all', title: ['Na lista', 'In the list'], entries: [all] },
  ])
}

function filled(groups: Group[]): Group[] {
  return groups.filter(({ entries }) => entries.length > 0)
}

function placeEntry({ name, icon, act }: Place, title: string): Entry {
  const content = <Line icon={icon} title={title} />
  if (typeof act === 'function') return { key: name, content, act }
  const { to, open } = act
  return { key: name, content, act: open === undefined ? { to } : { to, search: { open } } }
}

/** The server names kinds of events and of exceptions by their codes. */
function useWords(): (result: Found) => Found {
  const eventName = useEventName()
  const kinds: Readonly<Record<string, string>> = useLabels().kind
  return (result) => {
    const { kind, title, detail } = result
    if (kind === 'event') return { ...result, title: eventName(title) }
    return kind === 'exception' && detail !== null ? { ...result, detail: kinds[detail] ?? detail } : result
  }
}

function resultEntry(who: Me['kind'], result: Found): Entry {
  const { kind, id, title, detail, accountName, value, at } = result
  const more = [detail, who === 'operator' && kind !== 'account' && accountName].filter(Boolean).join(' · ')
  return {
    key: `${kind} ${id}`,
    act: placeOf(who, result),
    content: (
      <Line
        icon={ICONS[kind]}
        title={title}
        more={more}
        end={
          <>
            <span className="flex items-center justify-end gap-2">
              <ResultStatus result={result} isOperator={who === 'operator'} />
              {value !== null && <Money cents={value} className="font-medium" />}
            </span>
            <span className="block text-xs text-soft">
              <DateTime at={at} isShort />
            </span>
          </>
        }
      />
    ),
  }
}

function ResultStatus({ result: { kind, status }, isOperator }: { result: Found; isOperator: boolean }) {
  if (status === null) return null
  if (kind === 'exception') {
    const state = EXCEPTION_STATES.find((one) => one === status)
    return state ? <StateBadge state={state} /> : null
  }
  if (!isStatus(status)) return null
  return isOperator && kind === 'deposit' ? <ChargeStatus status={status} /> : <Status status={status} />
}

function Line(props: { icon: icons.Icon; title: string; more?: string; end?: ReactNode }) {
  const { icon: Icon, title, more, end } = props
  return (
    <>
      <Icon className="size-5 text-soft" />
      <span className="min-w-0 grow">
        <span className="block truncate font-medium">{title}</span>
        {more && <span className="block truncate text-sm text-soft">{more}</span>}
      </span>
      {end && <span className="shrink-0 text-right">{end}</span>}
    </>
  )
}
