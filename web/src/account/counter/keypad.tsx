import { useEffect, useRef, useState } from 'react'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { useMe } from '../../base/session.ts'
import type { Takings } from '../../contract/types.ts'
import { Button } from '../../ui/button.tsx'
import { EraseIcon } from '../../ui/icons.tsx'
import { amountSize } from './amount-size.ts'

const useTexts = translations({
  title: ['Nova cobrança', 'New charge'],
  amount: ['Valor', 'Amount'],
  keys: ['Teclado', 'Keypad'],
  erase: ['Apagar', 'Delete'],
  charge: (money: string) => [`Cobrar ${money}`, `Charge ${money}`],
  describe: ['Adicionar descrição', 'Add a description'],
  description: ['Descrição', 'Description'],
  descriptionHint: ['O pagador vê este texto.', 'Shown to the payer.'],
  tooSmall: (money: string) => [`O valor mínimo é ${money}`, `The minimum amount is ${money}`],
  tooLarge: (money: string) => [`O valor máximo é ${money}`, `The maximum amount is ${money}`],
  suspended: ['Esta conta está suspensa: não dá para cobrar.', 'This account is suspended: it cannot charge.'],
})

export type Typed = { cents: number; description: string }

/** The largest amount that a Pix can have, R$ 9.999.999.999,99. */
const MAX_DIGITS = 12
const MAX_DESCRIPTION = 140
const KEYS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '00', '0', 'erase']

type Props = {
  typed: Typed
  onType: (typed: Typed) => void
  onCharge: () => void
  isBusy: boolean
  limits: Pick<Takings, 'valueMin' | 'valueMax'> | undefined
  /** Why the last one was refused. */
  refusal: string
}

export function Keypad({ typed, onType, onCharge, isBusy, limits, refusal }: Props) {
  const t = useTexts()
  const { money } = useFormat()
  const isSuspended = useMe().suspendedReason !== null
  const { cents } = typed
  const limit = useLimitText(cents, limits)
  const obstacle = isSuspended ? t.suspended : limit
  const canCharge = cents > 0 && obstacle === '' && !isBusy
  const press = (key: string) => onType({ ...typed, cents: pressed(cents, key) })
  useKeyboard((key) => (key === 'charge' ? canCharge && onCharge() : press(key)))
  const amount = money(cents)
  const title = useRef<HTMLHeadingElement>(null)
  // Else Enter would press the button that led here.
  useEffect(() => title.current?.focus(), [])
  return (
    <div className="mx-auto flex w-full max-w-md grow flex-col gap-3 px-4 pt-2 pb-[calc(1rem+env(safe-area-inset-bottom))]">
      <h1 ref={title} tabIndex={-1} className="sr-only">
        {t.title}
      </h1>
      <div className="flex grow flex-col items-center justify-center gap-1 py-2 text-center">
        <output
          aria-label={t.amount}
          className={`figures font-semibold tracking-tight ${amountSize(amount)} ${cents === 0 ? 'text-soft' : ''}`}
        >
          {amount}
        </output>
        <p role="status" className="min-h-6 font-medium text-bad">
          {obstacle || refusal}
        </p>
        <Description text={typed.description} onType={(description) => onType({ ...typed, description })} />
      </div>
      <Keys onPress={press} />
      <Button
        kind="primary"
        disabled={!canCharge}
        isBusy={isBusy}
        onClick={onCharge}
        className="min-h-16! w-full rounded-2xl! text-xl"
      >
        {t.charge(amount)}
      </Button>
    </div>
  )
}

function Keys({ onPress }: { onPress: (key: string) => void }) {
  const t = useTexts()
  return (
    <div role="group" aria-label={t.keys} className="grid grid-cols-3 gap-2">
      {KEYS.map((key) => (
        <button
          key={key}
          type="button"
          aria-label={key === 'erase' ? t.erase : undefined}
          onClick={() => onPress(key)}
          className="figures flex min-h-14 touch-manipulation items-center justify-center rounded-2xl border border-line bg-card text-2xl font-semibold shadow-card select-none hover:bg-hover active:bg-still-ground"
        >
          {key === 'erase' ? <EraseIcon className="size-7" /> : key}
        </button>
      ))}
    </div>
  )
}

/** Behind a link, because most charges need none. */
function Description({ text, onType }: { text: string; onType: (text: string) => void }) {
  const t = useTexts()
  const [isOpen, setOpen] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (isOpen) field.current?.focus()
  }, [isOpen])
  if (!isOpen && text === '')
    return (
      <button type="button" className="link min-h-11 px-3" onClick={() => setOpen(true)}>
        {t.describe}
      </button>
    )
  return (
    <label className="w-full text-left text-sm font-semibold">
      {t.description}
      <input
        ref={field}
        maxLength={MAX_DESCRIPTION}
        placeholder={t.descriptionHint}
        value={text}
        onChange={({ target }) => onType(target.value)}
        className="mt-1 min-h-11 w-full rounded-lg border border-edge bg-card px-3 text-base font-normal placeholder:text-soft"
      />
    </label>
  )
}

/** Says what the server would refuse. Until its limits are known, it says them itself. */
function useLimitText(cents: number, limits: Props['limits']): string {
  const t = useTexts()
  const { money } = useFormat()
  if (!limits || cents === 0) return ''
  if (cents < limits.valueMin) return t.tooSmall(money(limits.valueMin))
  return cents > limits.valueMax ? t.tooLarge(money(limits.valueMax)) : ''
}

/** Digits come in from the right, as on a card terminal: 1, 2, 3 is R$ 1,23. */
function pressed(cents: number, key: string): number {
  if (key === 'clear') return 0
  const digits = key === 'erase' ? String(cents).slice(0, -1) : String(cents) + key
  return digits.length > MAX_DIGITS ? cents : Number(digits)
}

const NAMES: Readonly<Record<string, string>> = { Backspace: 'erase', Escape: 'clear', Enter: 'charge' }

function useKeyboard(onKey: (key: string) => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.repeat || event.ctrlKey || event.metaKey || event.altKey) return
      const { key, target } = event
      const action = /^\d$/.test(key) ? key : NAMES[key]
      if (action === undefined) return
      const isField = target instanceof HTMLInputElement
      // Fields take what is typed, and buttons that a keyboard reached their Enter.
      if (isField && key !== 'Enter') return
      if (key === 'Enter' && target instanceof Element && target.matches('a, button, summary')) return
      onKey(action)
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  })
  useEffect(() => {
    addEventListener('click', dropFocus)
    return () => removeEventListener('click', dropFocus)
  }, [])
}

/** After a touch on a button, Enter would press it again, and should charge. Keyboards click without a count. */
function dropFocus({ detail }: MouseEvent): void {
  const { activeElement } = document
  if (detail > 0 && activeElement instanceof HTMLElement && activeElement.matches('button, summary'))
    activeElement.blur()
}
