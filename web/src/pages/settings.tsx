import { useMe } from '../base/session.ts'
import { LANGUAGES, setLanguage, useLanguage, words, type Language } from '../base/language.ts'
import { setTheme, useTheme, type Theme } from '../base/theme.ts'
import { Card, Facts } from '../ui/card.tsx'
import { Copyable } from '../ui/copy-button.tsx'
import { Select } from '../ui/field.tsx'
import { Page } from '../ui/page.tsx'
import { ChangePassword } from './settings/change-password.tsx'
import { SecondFactor } from './settings/second-factor.tsx'
import { Sessions } from './settings/sessions.tsx'

const useWords = words({
  'pt-BR': {
    title: 'Configurações',
    profile: 'Perfil',
    name: 'Nome',
    email: 'E-mail',
    accountId: 'Conta',
    look: 'Aparência',
    lookText: 'Vale para este navegador.',
    language: 'Idioma',
    theme: 'Tema',
    themes: { system: 'Como no sistema', light: 'Claro', dark: 'Escuro' },
  },
  en: {
    title: 'Settings',
    profile: 'Profile',
    name: 'Name',
    email: 'E-mail',
    accountId: 'Account',
    look: 'Appearance',
    lookText: 'For this browser.',
    language: 'Language',
    theme: 'Theme',
    themes: { system: 'As the system has it', light: 'Light', dark: 'Dark' },
  },
})

export function SettingsPage() {
  const t = useWords()
  const me = useMe()
  return (
    <Page title={t.title} isNarrow>
      <Card title={t.profile}>
        <Facts
          facts={[
            { name: t.name, value: me.name },
            { name: t.email, value: me.email },
            { name: t.accountId, value: me.accountId && <Copyable text={me.accountId} /> },
          ]}
        />
      </Card>
      <SecondFactor />
      <ChangePassword />
      <Sessions />
      <Appearance />
    </Page>
  )
}

function Appearance() {
  const t = useWords()
  const language = useLanguage()
  const theme = useTheme()
  return (
    <Card title={t.look} text={t.lookText}>
      <div className="grid gap-5 sm:grid-cols-2">
        <Select
          label={t.language}
          value={language}
          onChange={(event) => setLanguage(event.target.value as Language)}
          choices={Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }))}
        />
        <Select
          label={t.theme}
          value={theme}
          onChange={(event) => setTheme(event.target.value as Theme)}
          choices={Object.entries(t.themes).map(([value, label]) => ({ value, label }))}
        />
      </div>
    </Card>
  )
}
