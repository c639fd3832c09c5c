import { fileUrl, type Query } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { Button } from '../button.tsx'
import { DownloadIcon } from '../icons.tsx'
import { Menu } from '../menu.tsx'

const useTexts = translations({
  label: ['Exportar', 'Export'],
  excel: ['Planilha para Excel', 'Spreadsheet for Excel (pt-BR)'],
  csv: ['CSV para sistemas', 'CSV for software'],
})

/** The list as a file: its filters and all of its pages. */
export function ExportMenu({ path, query }: { path: string; query: Query }) {
  const t = useTexts()
  const save = (format: string) => location.assign(fileUrl(path, { ...query, format }))
  return (
    <Menu
      trigger={<Button icon={DownloadIcon}>{t.label}</Button>}
      items={[
        { label: t.excel, icon: DownloadIcon, onSelect: () => save('csv-br') },
        { label: t.csv, icon: DownloadIcon, onSelect: () => save('csv') },
      ]}
    />
  )
}
