import type { Email } from '../../domain/ports/mailer.ts'
import { html, htmlText } from '../../base/html.ts'
import type { Language } from '../server/language.ts'

type Texts = { subject: string; intro: string; action: string; otherwise: string }
/** Spanish readers get Portuguese, as in the dashboard. */
type EmailLanguage = 'pt-BR' | 'en'
type Addressee = { to: string; token: string }

export function confirmationEmail(language: Language, publicUrl: string, { to, token }: Addressee): Email {
  return makeEmail(language, CONFIRMATION, { to, link: confirmationLink(publicUrl, token) })
}

export function confirmationLink(publicUrl: string, token: string): string {
  return `${publicUrl}/verify-email?token=${token}`
}

export function passwordEmail(language: Language, publicUrl: string, { to, token }: Addressee): Email {
  return makeEmail(language, PASSWORD, { to, link: `${publicUrl}/reset-password?token=${token}` })
}

/** For a sign-up with an e-mail address that already has an account. */
export function alreadyRegisteredEmail(language: Language, publicUrl: string, to: string): Email {
  return makeEmail(language, ALREADY_REGISTERED, { to, link: `${publicUrl}/forgot-password` })
}

export function invitationEmail(language: Language, { to, link }: { to: string; link: string }): Email {
  return makeEmail(language, INVITATION, { to, link })
}

export function memberInvitationEmail(
  language: Language,
  { to, link, accountName }: { to: string; link: string; accountName: string },
): Email {
  const texts: Record<EmailLanguage, Texts> = {
    'pt-BR': {
      ...MEMBER_INVITATION['pt-BR'],
      intro: `Você foi convidado a participar da conta “${accountName}” no guiche.`,
    },
    en: { ...MEMBER_INVITATION.en, intro: `You are invited to join the account “${accountName}” on guiche.` },
  }
  return makeEmail(language, texts, { to, link })
}

function makeEmail(
  language: Language,
  texts: Record<EmailLanguage, Texts>,
  { to, link }: { to: string; link: string },
): Email {
  const written = language === 'en' ? 'en' : 'pt-BR'
  const { subject, intro, action, otherwise } = texts[written]
  const page = html`<!doctype html>
    <html lang="${written}">
      <body>
        <p>${intro}</p>
        <p><a href="${link}">${action}</a></p>
        <p>${link}</p>
        <p>${otherwise}</p>
      </body>
    </html>`
  return { to, subject, text: `${intro}\n\n${action}:\n${link}\n\n${otherwise}\n`, html: htmlText(page), link }
}

const CONFIRMATION: Record<EmailLanguage, Texts> = {
  'pt-BR': {
    subject: 'Confirme seu e-mail no guiche',
    intro: 'Uma conta no guiche foi criada com este endereço de e-mail.',
    action: 'Confirmar o e-mail',
    otherwise:
      'O link vale por 24 horas. Se não foi você, ignore esta mensagem: sem a confirmação, ninguém entra na conta.',
  },
  en: {
    subject: 'Confirm your e-mail for guiche',
    intro: 'A guiche account was created with this e-mail address.',
    action: 'Confirm your e-mail',
    otherwise:
      'The link works for 24 hours. If this was not you, ignore this message: nobody can sign in until it is confirmed.',
  },
}

const PASSWORD: Record<EmailLanguage, Texts> = {
  'pt-BR': {
    subject: 'Nova senha no guiche',
    intro: 'Alguém pediu uma nova senha para a sua conta no guiche.',
    action: 'Escolher uma nova senha',
    otherwise:
      'O link vale por uma hora e funciona uma única vez. Se não foi você, ignore esta mensagem: sua senha continua a mesma.',
  },
  en: {
    subject: 'Reset your guiche password',
    intro: 'Someone requested a new password for your guiche account.',
    action: 'Choose a new password',
    otherwise:
      'The link works once, within one hour. If this was not you, ignore this message: your password stays the same.',
  },
}

const ALREADY_REGISTERED: Record<EmailLanguage, Texts> = {
  'pt-BR': {
    subject: 'Você já tem uma conta no guiche',
    intro: 'Alguém tentou criar uma conta no guiche com este endereço de e-mail, mas você já tem uma.',
    action: 'Escolher uma nova senha, se você esqueceu a sua',
    otherwise: 'Se não foi você, ignore esta mensagem: nada mudou.',
  },
  en: {
    subject: 'You already have a guiche account',
    intro: 'Someone tried to create a guiche account with this e-mail address, but you already have one.',
    action: 'Choose a new password, if you forgot yours',
    otherwise: 'If this was not you, ignore this message: nothing has changed.',
  },
}

const INVITATION: Record<EmailLanguage, Texts> = {
  'pt-BR': {
    subject: 'Convite para o guiche',
    intro: 'Você foi convidado a criar uma conta no guiche para receber depósitos por Pix.',
    action: 'Criar a conta',
    otherwise: 'O convite só pode ser usado uma vez. Se você não o esperava, ignore esta mensagem.',
  },
  en: {
    subject: 'Invitation to guiche',
    intro: 'You are invited to create a guiche account and receive deposits by Pix.',
    action: 'Create your account',
    otherwise: 'The invitation works once. If you did not expect it, ignore this message.',
  },
}

const MEMBER_INVITATION: Record<EmailLanguage, Omit<Texts, 'intro'>> = {
  'pt-BR': {
    subject: 'Convite para uma conta no guiche',
    action: 'Ver o convite',
    otherwise: 'O link vale por 7 dias e só pode ser usado uma vez. Se você não o esperava, ignore esta mensagem.',
  },
  en: {
    subject: 'Invitation to an account on guiche',
    action: 'See the invitation',
    otherwise: 'The link works once, within 7 days. If you did not expect it, ignore this message.',
  },
}
