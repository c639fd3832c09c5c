import type { Email } from '../../domain/ports/mailer.ts'
import { html, htmlText } from '../server/html.ts'
import type { Language } from '../server/language.ts'

// Letters that the service writes. Each says what happened, what to do, and that nothing happens if one does nothing.

type Words = { subject: string; said: string; act: string; otherwise: string }
/** Whoever reads Spanish reads these in Portuguese, as the dashboard is. */
type LetterLanguage = 'pt-BR' | 'en'

export function confirmationLetter(language: Language, publicUrl: string, { to, token }: Addressee): Email {
  return letter(language, CONFIRMATION, { to, link: confirmationLink(publicUrl, token) })
}

export function confirmationLink(publicUrl: string, token: string): string {
  return `${publicUrl}/verify-email?token=${token}`
}

export function passwordLetter(language: Language, publicUrl: string, { to, token }: Addressee): Email {
  return letter(language, PASSWORD, { to, link: `${publicUrl}/reset-password?token=${token}` })
}

/** To somebody who has an account and, it seems, has forgotten it. */
export function alreadyRegisteredEmail(language: Language, publicUrl: string, to: string): Email {
  return letter(language, KNOWN, { to, link: `${publicUrl}/forgot-password` })
}

export function invitationLetter(language: Language, { to, link }: { to: string; link: string }): Email {
  return letter(language, INVITATION, { to, link })
}

type Addressee = { to: string; token: string }

function letter(language: Language, words: Record<LetterLanguage, Words>, { to, link }: { to: string; link: string }) {
  const { subject, said, act, otherwise } = words[language === 'en' ? 'en' : 'pt-BR']
  const page = html`<!doctype html>
    <html lang="${language === 'en' ? 'en' : 'pt-BR'}">
      <body>
        <p>${said}</p>
        <p><a href="${link}">${act}</a></p>
        <p>${link}</p>
        <p>${otherwise}</p>
      </body>
    </html>`
  return { to, subject, text: `${said}\n\n${act}:\n${link}\n\n${otherwise}\n`, html: htmlText(page), link }
}

const CONFIRMATION: Record<LetterLanguage, Words> = {
  'pt-BR': {
    subject: 'Confirme seu e-mail no guiche',
    said: 'Uma conta do guiche foi criada com este endereço de e-mail.',
    act: 'Confirmar o e-mail',
    otherwise:
      'O link vale por 24 horas. Se não foi você, ignore esta mensagem: sem a confirmação ninguém entra na conta.',
  },
  en: {
    subject: 'Confirm your e-mail for guiche',
    said: 'An account of guiche was made with this e-mail address.',
    act: 'Confirm the e-mail',
    otherwise:
      'The link works for 24 hours. If it was not you, ignore this message: nobody can sign in before it is confirmed.',
  },
}

const PASSWORD: Record<LetterLanguage, Words> = {
  'pt-BR': {
    subject: 'Nova senha no guiche',
    said: 'Alguém pediu para trocar a senha da sua conta do guiche.',
    act: 'Escolher uma nova senha',
    otherwise:
      'O link vale por uma hora e só uma vez. Se não foi você, ignore esta mensagem: sua senha continua a mesma.',
  },
  en: {
    subject: 'A new password for guiche',
    said: 'Somebody asked for a new password for your account of guiche.',
    act: 'Choose a new password',
    otherwise:
      'The link works for one hour, and once. If it was not you, ignore this message: your password stays as it is.',
  },
}

const KNOWN: Record<LetterLanguage, Words> = {
  'pt-BR': {
    subject: 'Você já tem uma conta no guiche',
    said: 'Alguém tentou criar uma conta do guiche com este endereço de e-mail, que já tem uma.',
    act: 'Escolher uma nova senha, se você a esqueceu',
    otherwise: 'Se não foi você, ignore esta mensagem: nada mudou.',
  },
  en: {
    subject: 'You have an account of guiche already',
    said: 'Somebody tried to make an account of guiche with this e-mail address, which has one.',
    act: 'Choose a new password, if you have forgotten it',
    otherwise: 'If it was not you, ignore this message: nothing has changed.',
  },
}

const INVITATION: Record<LetterLanguage, Words> = {
  'pt-BR': {
    subject: 'Convite para o guiche',
    said: 'Você foi convidado a criar uma conta no guiche, para receber depósitos por Pix.',
    act: 'Criar a conta',
    otherwise: 'O convite vale uma só vez. Se você não o esperava, ignore esta mensagem.',
  },
  en: {
    subject: 'An invitation to guiche',
    said: 'You are invited to make an account of guiche, to receive deposits by Pix.',
    act: 'Make the account',
    otherwise: 'The invitation works once. If you did not expect it, ignore this message.',
  },
}
