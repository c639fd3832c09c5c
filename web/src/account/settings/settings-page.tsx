import { LANGUAGES, setLanguage, translations, useLanguage, type Language } from '../../base/language.ts'
import { useMe } from '../../base/session.ts'
import { setSingleKeys, useHasSingleKeys } from '../../ui/shortcuts.ts'
import { setTheme, useTheme } from '../../base/theme.ts'
import { Card, DetailList, Page } from '../../ui/page.tsx'
import { Copyable } from '../../ui/data/values.tsx'
import { Checkbox, Select } from '../../ui/form/form.tsx'
import { NoticeChoices } from '../notices/notice-choices.tsx'
import { useHasNotices } from '../notices/notices.ts'
import { ChangePassword } from './change-password.tsx'
import { LeaveAccount } from './leave-account.tsx'
import { Passkeys } from './passkeys.tsx'
import { Sessions } from './sessions.tsx'
import { TwoFactor } from './two-factor.tsx'

const useTexts = translations({
  title: ['Configurações', 'Settings'],
  profile: ['Perfil', 'Profile'],
  name: ['Nome', 'Name'],
  email: ['E-mail', 'Email'],
  accountId: ['ID da conta', 'Account ID'],
  appearance: ['Aparência', 'Appearance'],
  appearanceText: ['Vale para este navegador.', 'Applies to this browser.'],
  language: ['Idioma', 'Language'],
  theme: ['Tema', 'Theme'],
  shortcuts: ['Atalhos de uma tecla', 'Shortcuts of a single key'],
  shortcutsHint: [
    'Como G e depois D para ir à lista. A tecla ? mostra todos.',
    'Such as G and then D to go to the list. The key ? shows them all.',
  ],
  themes: {
    system: ['Do sistema', 'System'],
    light: ['Claro', 'Light'],
    dark: ['Escuro', 'Dark'],
  },
})

export function SettingsPage() {
  const t = useTexts()
  const me = useMe()
  return (
    <Page title={t.title} isNarrow>
      <Card title={t.profile}>
        <DetailList
          details={[
            { name: t.name, value: me.name },
            { name: t.email, value: me.email },
            { name: t.accountId, value: me.accountId && <Copyable text={me.accountId} /> },
          ]}
        />
      </Card>
      <TwoFactor />
      <Passkeys />
      <ChangePassword />
      <Sessions />
      {useHasNotices() && <NoticeChoices />}
      <LeaveAccount />
      <Appearance />
    </Page>
  )
}

function Appearance() {
  const t = useTexts()
  const language = useLanguage()
  const theme = useTheme()
  return (
    <Card title={t.appearance} text={t.appearanceText}>
      <div className="grid gap-5 sm:grid-cols-2">
        <Select
          label={t.language}
          value={language}
          // A select returns only the values of its choices.
          onChange={(value) => setLanguage(value as Language)}
          choices={Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }))}
        />
        <Select
          label={t.theme}
          value={theme}
          onChange={setTheme}
          choices={Object.entries(t.themes).map(([value, label]) => ({ value, label }))}
        />
      </div>
      <div id="shortcuts" className="pt-5">
        <Checkbox label={t.shortcuts} hint={t.shortcutsHint} value={useHasSingleKeys()} onChange={setSingleKeys} />
      </div>
    </Card>
  )
}
