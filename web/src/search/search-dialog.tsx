import { useNavigate } from '@tanstack/react-router'
import { Dialog as Radix } from 'radix-ui'
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react'
import { useErrorText } from '../base/error-text.ts'
import { translations, useLanguage, usePair } from '../base/language.ts'
import { useMe } from '../base/session.ts'
import { useIsDark } from '../base/theme.ts'
import { Button, IconButton, Spinner } from '../ui/button.tsx'
import { CloseIcon, SearchIcon } from '../ui/icons.tsx'
import { noteOpened, useEntries, type Entry } from './entries.tsx'
import { closeDialog } from './opened.ts'
import type { Place } from './match-places.ts'
import { actionsOf } from './actions.ts'
import { MAX_TYPED, MIN_TYPED, useResults } from './results.ts'

const useTexts = translations({
  title: ['Buscar', 'Search'],
  close: ['Fechar', 'Close'],
  label: {
    account: ['Depósito, valor, ID, página ou ação', 'Deposit, amount, ID, page or action'],
    operator: ['Conta, cobrança, E2E, valor, página…', 'Account, charge, E2E, amount, page…'],
  },
  results: ['Resultados', 'Results'],
  searching: ['Buscando…', 'Searching…'],
  found: (count: number) => (count === 1 ? ['1 resultado', '1 result'] : [`${count} resultados`, `${count} results`]),
  none: (text: string) => [`Nada encontrado para “${text}”`, `Nothing found for “${text}”`],
  hint: {
    account: [
      'Busque por referência, descrição, valor, ID ou link do depósito, ou por 7 caracteres ou mais do E2E.',
      'Search by reference, description, amount, ID or link of the deposit, or by 7 characters or more of the E2E ID.',
    ],
    operator: [
      'Busque por nome ou e-mail da conta, referência, valor, ID, link de pagamento, ou 7 caracteres ou mais do E2E.',
      'Search by name or email of the account, reference, amount, ID, payment link, or 7 characters or more of the E2E ID.',
    ],
  },
  short: ['Digite ao menos 2 caracteres.', 'Type at least 2 characters.'],
  retry: ['Tentar de novo', 'Try again'],
})

/** A field with a list below it: pages, actions, and what the server finds. */
export function SearchDialog({ pages, onClose }: { pages: readonly Place[]; onClose: () => void }) {
  const t = useTexts()
  const opener = useRef(document.activeElement)
  const isLeaving = useRef(false)
  return (
    <Radix.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 animate-appear bg-black/45" />
        <Radix.Content
          aria-describedby={undefined}
          onCloseAutoFocus={(event) => {
            event.preventDefault()
            // The heading of the page that opens takes the focus.
            if (!isLeaving.current && opener.current instanceof HTMLElement) opener.current.focus()
          }}
          className="fixed inset-x-0 top-0 z-50 mx-auto flex max-h-dvh w-full animate-rise flex-col overflow-clip border border-line bg-raised shadow-float outline-none max-sm:min-h-dvh sm:top-[10vh] sm:max-h-[75vh] sm:max-w-xl sm:rounded-2xl"
        >
          <Radix.Title className="sr-only">{t.title}</Radix.Title>
          <Box pages={pages} onLeave={() => (isLeaving.current = true)} />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

function Box({ pages, onLeave }: { pages: readonly Place[]; onLeave: () => void }) {
  const t = useTexts()
  const me = useMe()
  const actions = actionsOf(me, { isDark: useIsDark(), language: useLanguage() })
  const navigate = useNavigate()
  const listId = useId()
  const [typed, setTyped] = useState('')
  // By its key, because what is found later comes before or behind it.
  const [chosen, setChosen] = useState<string>()
  const text = typed.trim()
  const found = useResults(me.kind, text)
  const groups = useEntries({ text, pages, actions, results: found.results })
  const entries = groups.flatMap((group) => group.entries)
  // The list is never empty: it ends with what opens the list of deposits, or with signing out.
  const active = Math.max(
    0,
    entries.findIndex(({ key }) => key === chosen),
  )

  const open = (entry: Entry) => {
    const { act } = entry
    closeDialog()
    if (typeof act === 'function') return act()
    noteOpened(entry)
    onLeave()
    void navigate({ to: act.to, search: act.search ?? {} })
  }
  useEffect(() => {
    document.getElementById(`${listId}-${active}`)?.scrollIntoView({ block: 'nearest' })
  }, [active, listId])

  const onKeyDown = (event: KeyboardEvent) => {
    const last = entries.length - 1
    const next = { ArrowDown: active >= last ? 0 : active + 1, ArrowUp: active <= 0 ? last : active - 1 }[event.key]
    if (next !== undefined) setChosen(entries[next]?.key)
    else if (event.key === 'Enter' && !event.nativeEvent.isComposing && entries[active]) open(entries[active])
    else if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) closeDialog()
    else return
    event.preventDefault()
  }

  return (
    <>
      <Field
        listId={listId}
        active={active}
        typed={typed}
        isWaiting={found.isWaiting}
        onKeyDown={onKeyDown}
        onChange={(next) => {
          setTyped(next)
          setChosen(undefined)
        }}
      />
      <p role="status" className="sr-only">
        {found.isWaiting ? t.searching : text !== '' && t.found(entries.length - 1)}
      </p>
      <div className="flex min-h-0 grow flex-col">
        <Note found={found} text={text} hasPlace={groups.some(({ name }) => name === 'places')} />
        <Options id={listId} groups={groups} active={entries[active]} onOpen={open} onPoint={setChosen} />
      </div>
    </>
  )
}

function Field(props: {
  listId: string
  active: number
  typed: string
  isWaiting: boolean
  onKeyDown: (event: KeyboardEvent) => void
  onChange: (typed: string) => void
}) {
  const t = useTexts()
  const label = t.label[useMe().kind]
  return (
    <div className="flex items-center gap-3 border-b border-line pr-2 pl-5">
      <SearchIcon className="size-5 text-soft" />
      <input
        type="text"
        role="combobox"
        aria-label={label}
        aria-expanded
        aria-controls={props.listId}
        aria-autocomplete="list"
        aria-activedescendant={`${props.listId}-${props.active}`}
        placeholder={label}
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={MAX_TYPED}
        value={props.typed}
        onChange={(event) => props.onChange(event.target.value)}
        onKeyDown={props.onKeyDown}
        className="min-h-14 min-w-0 grow bg-transparent text-base text-ink outline-none placeholder:text-soft"
      />
      {props.isWaiting && (
        // A shorter wait needs no sign.
        <span className="animate-[appear_1ms_300ms_both]">
          <Spinner className="size-5 text-soft" />
        </span>
      )}
      <Radix.Close asChild>
        <IconButton label={t.close}>
          <CloseIcon />
        </IconButton>
      </Radix.Close>
    </div>
  )
}

function Options(props: {
  id: string
  groups: ReturnType<typeof useEntries>
  active: Entry | undefined
  onOpen: (entry: Entry) => void
  onPoint: (key: string) => void
}) {
  const { id, groups, active } = props
  const t = useTexts()
  const inLanguage = usePair()
  const entries = groups.flatMap((group) => group.entries)
  return (
    <div role="listbox" id={id} aria-label={t.results} className="grow overflow-y-auto overscroll-contain p-2">
      {groups.map((group) => (
        <div key={group.name} role="group" aria-labelledby={`${id}-${group.name}`} className="pb-2">
          <p id={`${id}-${group.name}`} role="presentation" className="px-3 pt-2 pb-1 text-xs font-semibold text-soft">
            {inLanguage(group.title)}
          </p>
          {group.entries.map((entry) => (
            <button
              key={entry.key}
              type="button"
              role="option"
              id={`${id}-${entries.indexOf(entry)}`}
              tabIndex={-1}
              aria-selected={entry === active}
              // The field keeps the focus.
              onMouseDown={(event) => event.preventDefault()}
              onMouseMove={() => props.onPoint(entry.key)}
              onClick={() => props.onOpen(entry)}
              className="flex min-h-11 w-full items-center gap-3 rounded-lg px-3 py-1.5 text-left outline-accent aria-selected:bg-hover aria-selected:outline-2 aria-selected:-outline-offset-2"
            >
              {entry.content}
            </button>
          ))}
        </div>
      ))}
    </div>
  )
}

/** Says what can be searched for where nothing is found, and why nothing can be. */
function Note(props: { found: ReturnType<typeof useResults>; text: string; hasPlace: boolean }) {
  const { found, text } = props
  const t = useTexts()
  const { kind } = useMe()
  const errorText = useErrorText()
  if (found.error)
    return (
      <div role="alert" className="flex flex-wrap items-center justify-between gap-2 px-5 pt-3 text-bad">
        {errorText(found.error)}
        <Button size="small" onClick={found.retry}>
          {t.retry}
        </Button>
      </div>
    )
  if (text === '' || props.hasPlace) return null
  if (text.length < MIN_TYPED) return <p className="px-5 pt-3 text-sm text-soft">{t.short}</p>
  if (found.isWaiting || found.results.length > 0) return null
  return (
    <div className="px-5 pt-4 pb-1">
      <p className="font-medium wrap-anywhere">{t.none(text)}</p>
      <p className="mt-0.5 text-sm text-soft">{t.hint[kind]}</p>
    </div>
  )
}
