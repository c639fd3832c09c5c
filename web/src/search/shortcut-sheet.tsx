import { Link } from '@tanstack/react-router'
import { translations, usePair } from '../base/language.ts'
import { useMe } from '../base/session.ts'
import { isMac, shortcutsOf, useHasSingleKeys } from '../ui/shortcuts.ts'
import { Dialog } from '../ui/form/dialog.tsx'

const useTexts = translations({
  title: ['Atalhos do teclado', 'Keyboard shortcuts'],
  close: ['Fechar o que está aberto', 'Close what is open'],
  after: ['depois', 'then'],
  or: ['ou', 'or'],
  off: [
    'Os atalhos de uma tecla estão desligados neste navegador.',
    'Shortcuts of a single key are off in this browser.',
  ],
  choose: ['Ligar ou desligar nas configurações', 'Turn them on or off in the settings'],
})

const SIGNS: Readonly<Record<string, string>> = { ArrowLeft: '←', ArrowRight: '→' }

/** Lists the table that the keyboard follows. */
export function ShortcutSheet({ onClose }: { onClose: () => void }) {
  const t = useTexts()
  const inLanguage = usePair()
  const isOn = useHasSingleKeys()
  const shown = shortcutsOf(useMe()).map(({ label, keys }) => ({ name: inLanguage(label), keys }))
  return (
    <Dialog title={t.title} onClose={onClose} {...(!isOn && { text: t.off })}>
      <dl className="divide-y divide-line">
        {[...shown, { name: t.close, keys: ['Esc'] }].map(({ name, keys }) => (
          <div key={name} className="flex items-center justify-between gap-6 py-2">
            <dt>{name}</dt>
            <dd className="shrink-0 text-sm text-soft">
              {keys.map((key, index) => (
                <span key={key}>
                  {index > 0 && ` ${t.or} `}
                  <Keys keys={key} />
                </span>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <p className="pt-4">
        <Link to="/settings" hash="shortcuts" onClick={onClose} className="link">
          {t.choose}
        </Link>
      </p>
    </Dialog>
  )
}

function Keys({ keys }: { keys: string }) {
  const t = useTexts()
  const named = keys.replace('Mod+', isMac() ? '⌘ ' : 'Ctrl ')
  const isSequence = named === keys
  return named.split(' ').map((key, index) => (
    <span key={key}>
      {index > 0 && (isSequence ? ` ${t.after} ` : ' + ')}
      <kbd className="inline-block min-w-7 rounded-md border border-edge bg-card px-1.5 py-0.5 text-center font-sans text-ink">
        {SIGNS[key] ?? (key.length === 1 ? key.toUpperCase() : key)}
      </kbd>
    </span>
  ))
}
