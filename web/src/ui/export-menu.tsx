import { fileUrl, type Query } from '../base/api.ts'
import { words } from '../base/language.ts'
import { Button } from './button.tsx'
import { DownloadIcon } from './icons.tsx'
import { Menu } from './menu.tsx'

const useWords = words({
  'pt-BR': { label: 'Exportar', excel: 'Planilha (Excel em português)', csv: 'CSV para programas' },
  en: { label: 'Export', excel: 'Spreadsheet (Excel in Portuguese)', csv: 'CSV for programs' },
})

/** The list in sight as a file, with its filters and all of its pages. */
export function ExportMenu({
  path,
  query,
  what,
}: {
  path: string
  query: Query
  /** Which days, in words. */ what?: string
}) {
  const t = useWords()
  const save = (format: string) => location.assign(fileUrl(path, { ...query, format }))
  const icon = <DownloadIcon className="size-4" />
  return (
    <Menu
      trigger={
        <Button>
          {icon}
          {what === undefined ? t.label : `${t.label}: ${what}`}
        </Button>
      }
      items={[
        { label: t.excel, icon, onSelect: () => save('excel-br') },
        { label: t.csv, icon, onSelect: () => save('csv') },
      ]}
    />
  )
}
