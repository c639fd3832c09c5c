import { fileUrl } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import { Button } from '../../ui/button.tsx'
import { DownloadIcon } from '../../ui/icons.tsx'
import { Menu } from '../../ui/menu.tsx'

const useTexts = translations({
  label: ['Exportar', 'Export'],
  forms: {
    ofx: ['OFX 1.02', 'OFX 1.02'],
    ofx2: ['OFX 2 (XML)', 'OFX 2 (XML)'],
    'csv-br': ['Planilha brasileira (CSV)', 'Brazilian spreadsheet (CSV)'],
    csv: ['CSV internacional', 'International CSV'],
    jsonl: ['JSON Lines', 'JSON Lines'],
  },
  purposes: {
    ofx: ['Para o sistema do contador', 'For accounting programs'],
    ofx2: ['Se o sistema pedir a versão 2', 'If the program asks for version 2'],
    'csv-br': ['Ponto e vírgula, vírgula decimal', 'Semicolons and decimal commas'],
    csv: ['Vírgula e ponto decimal', 'Commas and decimal points'],
    jsonl: ['Para programas, em centavos', 'For programs, in cents'],
  },
})

const FORMS = ['ofx', 'ofx2', 'csv-br', 'csv', 'jsonl'] as const

/** All lines of the period as a file. */
export function ExportStatement({ from, to }: { from: string; to: string }) {
  const t = useTexts()
  return (
    <Menu
      opensBy="export"
      trigger={<Button icon={DownloadIcon}>{t.label}</Button>}
      items={FORMS.map((format) => ({
        label: (
          <span className="py-1.5 leading-tight">
            {t.forms[format]}
            <span className="mt-0.5 block text-xs font-normal text-soft">{t.purposes[format]}</span>
          </span>
        ),
        icon: DownloadIcon,
        onSelect: () => location.assign(fileUrl('/statement/export', { format, from, to })),
      }))}
    />
  )
}
