import { useId, type ReactNode } from 'react'

/** A radio button with a line that explains it; its whole area is clickable. */
export function RadioCard({
  name,
  isChosen,
  onChoose,
  title,
  text,
  badge,
}: {
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
        name={name}
        checked={isChosen}
        onChange={onChoose}
        aria-describedby={`${id}-text`}
        className="relative z-10 size-5 shrink-0 accent-accent"
      />
      <div className="min-w-0 grow">
        <label htmlFor={id} className="block font-medium wrap-anywhere after:absolute after:inset-0">
          {title}
        </label>
        <p id={`${id}-text`} className="text-sm text-soft wrap-anywhere">
          {text}
        </p>
      </div>
      {badge}
    </div>
  )
}
