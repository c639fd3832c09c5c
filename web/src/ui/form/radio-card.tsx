import { useId, type ReactNode } from 'react'

/** A radio button with a line that explains it; its whole area is clickable. */
export function RadioCard(props: {
  name: string
  isChosen: boolean
  onChoose: () => void
  title: string
  text: string
  badge?: ReactNode
}) {
  const id = useId()
  return (
    <div className="relative flex items-center gap-3 rounded-lg border border-line px-3 py-2.5 hover:bg-hover has-checked:border-accent has-checked:bg-good-ground">
      <input
        type="radio"
        id={id}
        name={props.name}
        checked={props.isChosen}
        onChange={props.onChoose}
        aria-describedby={`${id}-text`}
        className="relative z-10 size-5 shrink-0 accent-accent"
      />
      <div className="min-w-0 grow">
        <label htmlFor={id} className="block font-medium wrap-anywhere after:absolute after:inset-0">
          {props.title}
        </label>
        <p id={`${id}-text`} className="text-sm text-soft wrap-anywhere">
          {props.text}
        </p>
      </div>
      {props.badge}
    </div>
  )
}
