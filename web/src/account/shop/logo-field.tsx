import { useId, useRef, useState } from 'react'
import { translations } from '../../base/language.ts'
import type { Shop } from '../../contract/types.ts'
import { Button } from '../../ui/button.tsx'

const useTexts = translations({
  label: ['Logo', 'Logo'],
  hint: [
    'PNG, JPEG ou WebP de até 256 KiB e 2000 × 2000 pixels.',
    'PNG, JPEG or WebP, up to 256 KiB and 2000 × 2000 pixels.',
  ],
  tooLarge: ['Este arquivo tem mais de 256 KiB.', 'This file has more than 256 KiB.'],
  choose: ['Escolher arquivo', 'Choose file'],
  replace: ['Trocar', 'Replace'],
  remove: ['Remover', 'Remove'],
  chosen: ['Logo escolhido', 'Chosen logo'],
  current: ['Logo atual', 'Current logo'],
})

/** What happens to the logo on saving. `url` shows the file before it is sent. */
export type LogoChoice = 'kept' | 'none' | { file: File; url: string }

// The server takes no more.
const MAX_BYTES = 256 * 1024

export function LogoField(props: { shop: Shop; value: LogoChoice; onChange: (choice: LogoChoice) => void }) {
  const t = useTexts()
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [isTooLarge, setTooLarge] = useState(false)
  const { shop, value, onChange } = props
  // Of the host by which this page was reached, which may have another name than the public one.
  const current = shop.logoUrl === null ? undefined : new URL(shop.logoUrl).pathname
  const shown = value === 'kept' ? current : value === 'none' ? undefined : value.url
  const choose = async (file: File | undefined) => {
    if (!file) return
    setTooLarge(file.size > MAX_BYTES)
    if (file.size <= MAX_BYTES) onChange({ file, url: await dataUrlOf(file) })
  }
  return (
    <div className="space-y-1.5">
      <label htmlFor={id} className="block text-sm font-semibold">
        {t.label}
      </label>
      <div className="flex flex-wrap items-center gap-3">
        {shown !== undefined && <Picture url={shown} name={value === 'kept' ? t.current : t.chosen} />}
        <input
          ref={input}
          id={id}
          type="file"
          accept="image/png,image/jpeg,image/webp"
          aria-describedby={`${id}-hint`}
          className="sr-only"
          tabIndex={-1}
          onChange={(event) => {
            void choose(event.target.files?.[0])
            // Choosing the same file again is a choice too.
            event.target.value = ''
          }}
        />
        <Button size="small" onClick={() => input.current?.click()}>
          {shown === undefined ? t.choose : t.replace}
        </Button>
        {shown !== undefined && (
          <Button size="small" kind="quiet" onClick={() => onChange('none')}>
            {t.remove}
          </Button>
        )}
      </div>
      <p id={`${id}-hint`} className="text-sm text-soft">
        {t.hint}
      </p>
      {isTooLarge && (
        <p role="alert" className="text-sm font-medium text-bad">
          {t.tooLarge}
        </p>
      )}
    </div>
  )
}

/** White behind it, as on the pages for payers. */
function Picture({ url, name }: { url: string; name: string }) {
  return (
    <img src={url} alt={name} className="h-14 max-w-48 rounded-lg border border-line bg-[#fff] object-contain p-1" />
  )
}

/** The page's policy allows pictures of its own origin, and data. */
function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener('load', () => resolve(reader.result as string))
    reader.addEventListener('error', () => reject(reader.error ?? new Error('the file cannot be read')))
    reader.readAsDataURL(file)
  })
}
