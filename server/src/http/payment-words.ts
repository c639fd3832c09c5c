import type { ChargeStatus } from '../domain/charges.ts'
import type { Language } from './language.ts'

export type Words = {
  states: Record<ChargeStatus | 'CLOSING', { title: string; advice: string | null }>
  payTo: string
  codeLabel: string
  copy: string
  copied: string
  howTo: string
  qrLabel: string
  payUntil: string
  paidAt: string
  expiredAt: string
  zone: string
  sandbox: string
  footer: string
  missing: { title: string; advice: string }
}

export const WORDS: Record<Language, Words> = {
  'pt-BR': {
    states: {
      PENDING: { title: 'Aguardando pagamento', advice: null },
      CLOSING: {
        title: 'Prazo encerrado',
        advice: 'Não pague mais este código. Se você já pagou, a confirmação aparece aqui em instantes.',
      },
      COMPLETED: { title: 'Pagamento confirmado', advice: 'Tudo certo. Você já pode fechar esta página.' },
      EXPIRED: {
        title: 'Cobrança expirada',
        advice: 'Não pague mais este código. Peça uma nova cobrança a quem enviou este link.',
      },
      CANCELED: {
        title: 'Cobrança cancelada',
        advice: 'Não pague mais este código. Ele foi cancelado por quem o enviou.',
      },
    },
    payTo: 'Pagamento para',
    codeLabel: 'Pix copia e cola',
    copy: 'Copiar código',
    copied: 'Copiado',
    howTo:
      'No aplicativo do banco, leia o QR code ou use Pix copia e cola. Esta página avisa quando o pagamento chegar.',
    qrLabel: 'QR code do Pix',
    payUntil: 'Pague até',
    paidAt: 'Pago em',
    expiredAt: 'Expirou em',
    zone: 'Brasília',
    sandbox: 'Ambiente de testes: sem dinheiro real',
    footer: 'Pagamento por Pix',
    missing: {
      title: 'Cobrança não encontrada',
      advice: 'Confira o link: pode faltar um pedaço dele. Se continuar assim, peça um novo a quem o enviou.',
    },
  },
  en: {
    states: {
      PENDING: { title: 'Waiting for payment', advice: null },
      CLOSING: {
        title: 'Time is over',
        advice: 'Do not pay this code any more. If you have paid already, this page will say so in a moment.',
      },
      COMPLETED: { title: 'Payment confirmed', advice: 'All done. You can close this page.' },
      EXPIRED: {
        title: 'Charge expired',
        advice: 'Do not pay this code any more. Ask whoever sent you this link for a new one.',
      },
      CANCELED: {
        title: 'Charge canceled',
        advice: 'Do not pay this code any more. It was canceled by whoever sent it.',
      },
    },
    payTo: 'Payment to',
    codeLabel: 'Pix copy and paste',
    copy: 'Copy code',
    copied: 'Copied',
    howTo:
      'In your banking app, scan the QR code or use Pix copy and paste. This page will tell when the payment has arrived.',
    qrLabel: 'Pix QR code',
    payUntil: 'Pay until',
    paidAt: 'Paid',
    expiredAt: 'Expired',
    zone: 'Brasília',
    sandbox: 'Sandbox: no real money',
    footer: 'Payment by Pix',
    missing: {
      title: 'Charge not found',
      advice:
        'Please check the link: a part of it may be missing. If that does not help, ask whoever sent it for a new one.',
    },
  },
}
