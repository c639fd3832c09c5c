import { useState } from 'react'
import { translations } from '../../base/language.ts'
import { CodeBlock } from '../../ui/data/values.tsx'

const useTexts = translations({
  language: ['Linguagem', 'Language'],
})

const NAMES = { curl: 'curl', javascript: 'JavaScript', python: 'Python', php: 'PHP' } as const
export type CodeLanguage = keyof typeof NAMES
const LANGUAGES: readonly CodeLanguage[] = ['curl', 'javascript', 'python', 'php']

/** The same code in several languages. All samples of a page follow one choice. */
export function CodeSample(props: {
  codes: Partial<Record<CodeLanguage, string>>
  chosen: CodeLanguage
  onChoose: (language: CodeLanguage) => void
  label: string
}) {
  const t = useTexts()
  const { codes } = props
  const languages = LANGUAGES.filter((language) => codes[language] !== undefined)
  const shown = languages.find((language) => language === props.chosen) ?? languages[0] ?? 'curl'
  return (
    <div className="space-y-2">
      <div
        role="group"
        aria-label={t.language}
        className="inline-flex max-w-full gap-1 overflow-x-auto rounded-lg bg-still-ground p-1"
      >
        {languages.map((language) => (
          <button
            key={language}
            type="button"
            aria-pressed={language === shown}
            onClick={() => props.onChoose(language)}
            className="min-h-8 rounded-md px-3 text-sm font-medium text-still aria-pressed:bg-card aria-pressed:text-ink aria-pressed:shadow-card"
          >
            {NAMES[language]}
          </button>
        ))}
      </div>
      <CodeBlock code={codes[shown] ?? ''} label={`${props.label}: ${NAMES[shown]}`} />
    </div>
  )
}

export function useCodeLanguage() {
  return useState<CodeLanguage>('curl')
}
