import { words } from '../../base/language.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { DownloadIcon } from '../../ui/icons.tsx'

const useWords = words({
  'pt-BR': { copy: 'Copiar todos', download: 'Baixar', file: 'guiche-codigos-de-recuperacao.txt' },
  en: { copy: 'Copy all', download: 'Download', file: 'guiche-recovery-codes.txt' },
})

export function RecoveryCodes({ codes }: { codes: readonly string[] }) {
  const t = useWords()
  const text = codes.join('\n')
  return (
    <div className="space-y-4">
      <ul className="grid grid-cols-2 gap-x-6 gap-y-1.5 rounded-lg border border-line bg-code-ground px-4 py-3 font-mono text-sm">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex flex-wrap gap-2">
        <CopyButton text={text} label={t.copy} />
        <Button size="small" onClick={() => saveText(t.file, `${text}\n`)}>
          <DownloadIcon className="size-4" />
          {t.download}
        </Button>
      </div>
    </div>
  )
}

function saveText(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
