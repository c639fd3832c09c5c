import { paidCents, type Charge } from '../../domain/deposits/charge-reads.ts'
import type { HeldMoney } from '../../domain/deposits/held-payments.ts'
import type { Language } from '../server/language.ts'

/**
 * What the page tells a payer.
 * CLOSING: expired, but the provider has not confirmed yet that it is unpaid. Nobody should start paying.
 * HELD: money arrived that does not complete the charge, and the operator has not decided yet.
 * KEPT: as HELD, but the operator decided, and did not refund it.
 * REFUNDED: all of it was refunded, so "confirmed" would be wrong.
 */
export const PAGE_STATES = [
  'PENDING',
  'CLOSING',
  'HELD',
  'KEPT',
  'COMPLETED',
  'REFUNDED',
  'EXPIRED',
  'CANCELED',
] as const
export type PageState = (typeof PAGE_STATES)[number]

export function pageStateOf(charge: Charge, { heldCents, keptCents }: HeldMoney, now: Date): PageState {
  if (charge.status === 'COMPLETED') return charge.refundedCents >= paidCents(charge) ? 'REFUNDED' : 'COMPLETED'
  if (heldCents > 0) return 'HELD'
  if (keptCents > 0) return 'KEPT'
  return charge.status === 'PENDING' && now >= charge.expiresAt ? 'CLOSING' : charge.status
}

export type Texts = {
  states: Record<PageState, { title: string; advice: string | null }>
  payTo: string
  /** Before the receiver's name in the banking app. */
  bankShows: string
  /** Before the name of the shop. */
  backTo: string
  /** Before e-mail, phone and link of the shop. */
  contact: string
  receipt: {
    link: string
    title: string
    payee: string
    description: string
    endToEndId: string
    chargeId: string
    left: string
    about: string
  }
  /** Of a lasting code. */
  code: {
    title: string
    limits: (min: string | null, max: string | null) => string
    lastStep: string
    closedTitle: string
    closedAdvice: string
  }
  codeLabel: string
  copy: string
  copied: string
  notCopied: string
  howTo: string
  steps: [string, string, string]
  qrLabel: string
  payUntil: string
  timeLeft: string
  paidAt: string
  expiredAt: string
  refunded: string
  /** About money that arrived and did not complete the charge. */
  held: (received: string, charged: string) => string
  kept: (received: string, charged: string) => string
  returned: (received: string, isOtherAmount: boolean) => string
  besides: Record<'held' | 'kept' | 'returned', (more: string) => string>
  /** Of a charge that requires its payer. */
  payer: {
    only: (payer: string) => string
    checking: (received: string) => string
    other: (received: string, payer: string, isReturned: boolean) => string
  }
  zone: string
  sandbox: string
  sandboxPay: { about: string; button: string }
  footer: string
  languages: string
  missing: { title: string; advice: string }
}

function limitsOf(
  min: string | null,
  max: string | null,
  texts: Record<'both' | 'low' | 'high' | 'free', string>,
): string {
  if (min === null) return max === null ? texts.free : texts.high
  return max === null ? texts.low : texts.both
}

/** Each language in its own words, for readers who do not know the current one. */
export const LANGUAGE_NAMES: Record<Language, string> = { 'pt-BR': 'Português', en: 'English', es: 'Español' }

export const TEXTS: Record<Language, Texts> = {
  'pt-BR': {
    states: {
      PENDING: { title: 'Aguardando pagamento', advice: null },
      CLOSING: {
        title: 'Prazo encerrado',
        advice: 'Não pague mais este código. Se você já pagou, a confirmação aparece aqui em instantes.',
      },
      HELD: { title: 'Pagamento em análise', advice: null },
      KEPT: { title: 'Pagamento recebido', advice: null },
      COMPLETED: { title: 'Pagamento confirmado', advice: 'Tudo certo. Você já pode fechar esta página.' },
      REFUNDED: { title: 'Pagamento devolvido', advice: 'O valor foi devolvido à conta que fez o pagamento.' },
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
    bankShows: 'No app do banco aparece:',
    backTo: 'Voltar para',
    contact: 'Dúvidas?',
    receipt: {
      link: 'Ver o recibo',
      title: 'Recibo',
      payee: 'Recebedor',
      description: 'Descrição',
      endToEndId: 'ID da transação Pix',
      chargeId: 'ID da cobrança',
      left: 'Pago após a devolução',
      about: 'O comprovante do Pix está no app do banco que fez o pagamento.',
    },
    code: {
      title: 'Pague com Pix',
      limits: (min, max) =>
        limitsOf(min, max, {
          both: `Você escolhe o valor, de ${min} a ${max}.`,
          low: `Você escolhe o valor, a partir de ${min}.`,
          high: `Você escolhe o valor, até ${max}.`,
          free: 'Você escolhe o valor.',
        }),
      lastStep: 'Digite o valor, confira quem recebe e confirme. O comprovante fica no aplicativo do banco.',
      closedTitle: 'Código encerrado',
      closedAdvice: 'Não pague mais este código. Peça outro a quem o enviou.',
    },
    codeLabel: 'Pix copia e cola',
    copy: 'Copiar código Pix',
    copied: 'Código copiado',
    notCopied: 'Não foi possível copiar. Selecione o código acima.',
    howTo: 'Como pagar',
    steps: [
      'Abra o aplicativo do seu banco e escolha Pix.',
      'Leia o QR code ou cole o código.',
      'Confira o valor e confirme. Esta página avisa quando o pagamento chegar.',
    ],
    qrLabel: 'QR code do Pix',
    payUntil: 'Pague até',
    timeLeft: 'Tempo restante',
    paidAt: 'Pago em',
    expiredAt: 'Expirou em',
    refunded: 'Devolvido',
    held: (received, charged) =>
      `Recebemos ${received}, mas esta cobrança é de ${charged}. Não pague de novo: quem enviou este link já foi avisado.`,
    kept: (received, charged) =>
      `Recebemos ${received} desta cobrança de ${charged}. Não pague de novo. Se faltar algum valor, fale com quem enviou este link.`,
    returned: (received, isOtherAmount) =>
      `Devolvemos ${received}${isOtherAmount ? ', que era diferente do valor' : ''}.`,
    besides: {
      held: (more) =>
        `Além deste pagamento, recebemos mais ${more}, que estão em análise. Não pague de novo: quem enviou este link já foi avisado.`,
      kept: (more) =>
        `Além deste pagamento, recebemos mais ${more}. Em caso de dúvida, fale com quem enviou este link.`,
      returned: (more) => `Devolvemos ${more}, recebidos além deste pagamento.`,
    },
    payer: {
      only: (payer) => `Só pode pagar o titular do ${payer}. O dinheiro de outra pessoa é devolvido.`,
      checking: (received) => `Recebemos ${received} e estamos confirmando quem pagou. Não pague de novo.`,
      other: (received, payer, isReturned) =>
        `O pagamento de ${received} não veio do titular do ${payer}${isReturned ? ', e foi devolvido a quem pagou.' : ', e volta para quem pagou. Não pague de novo.'}`,
    },
    zone: 'Brasília',
    sandbox: 'Ambiente de testes: sem dinheiro real',
    sandboxPay: {
      about: 'Só no ambiente de testes: o banco de testes paga esta cobrança.',
      button: 'Simular pagamento',
    },
    footer: 'Pagamento por Pix',
    languages: 'Idioma',
    missing: {
      title: 'Cobrança não encontrada',
      advice: 'Confira o link: talvez falte uma parte. Se não resolver, peça um novo a quem o enviou.',
    },
  },
  en: {
    states: {
      PENDING: { title: 'Waiting for payment', advice: null },
      CLOSING: {
        title: 'Time is up',
        advice: 'Do not pay this code anymore. If you have already paid, the confirmation will appear here shortly.',
      },
      HELD: { title: 'Payment under review', advice: null },
      KEPT: { title: 'Payment received', advice: null },
      COMPLETED: { title: 'Payment confirmed', advice: 'All done. You can close this page.' },
      REFUNDED: { title: 'Payment returned', advice: 'The amount was returned to the account that paid.' },
      EXPIRED: {
        title: 'Charge expired',
        advice: 'Do not pay this code anymore. Ask the sender of this link for a new one.',
      },
      CANCELED: {
        title: 'Charge canceled',
        advice: 'Do not pay this code anymore. The sender canceled it.',
      },
    },
    payTo: 'Payment to',
    bankShows: 'Your banking app shows:',
    backTo: 'Back to',
    contact: 'Questions?',
    receipt: {
      link: 'View the receipt',
      title: 'Receipt',
      payee: 'Payee',
      description: 'Description',
      endToEndId: 'Pix transaction ID',
      chargeId: 'Charge ID',
      left: 'Paid after the refund',
      about: 'The proof of the Pix is in the app of the bank that paid.',
    },
    code: {
      title: 'Pay by Pix',
      limits: (min, max) =>
        limitsOf(min, max, {
          both: `You choose the amount, from ${min} to ${max}.`,
          low: `You choose the amount, from ${min}.`,
          high: `You choose the amount, up to ${max}.`,
          free: 'You choose the amount.',
        }),
      lastStep: 'Type the amount, check who receives it and confirm. Your banking app keeps the receipt.',
      closedTitle: 'Code closed',
      closedAdvice: 'Do not pay this code anymore. Ask the sender for another one.',
    },
    codeLabel: 'Pix copy and paste',
    copy: 'Copy Pix code',
    copied: 'Code copied',
    notCopied: 'Copying failed. Please select the code above.',
    howTo: 'How to pay',
    steps: [
      'Open your banking app and choose Pix.',
      'Scan the QR code or paste the code.',
      'Check the amount and confirm. This page shows when the payment arrives.',
    ],
    qrLabel: 'Pix QR code',
    payUntil: 'Pay by',
    timeLeft: 'Time left',
    paidAt: 'Paid',
    expiredAt: 'Expired',
    refunded: 'Returned',
    held: (received, charged) =>
      `We received ${received}, but this charge is for ${charged}. Do not pay again: the sender of this link has been told.`,
    kept: (received, charged) =>
      `We received ${received} for this charge of ${charged}. Do not pay again. If anything is missing, ask the sender of this link.`,
    returned: (received, isOtherAmount) =>
      `We returned ${received}${isOtherAmount ? ', which was not the amount of this charge' : ''}.`,
    besides: {
      held: (more) =>
        `Besides this payment, we received another ${more}, which is under review. Do not pay again: the sender of this link has been told.`,
      kept: (more) =>
        `Besides this payment, we received another ${more}. If you have a question, ask the sender of this link.`,
      returned: (more) => `We returned ${more}, which we received besides this payment.`,
    },
    payer: {
      only: (payer) => `Only the holder of ${payer} can pay. Money of anybody else is returned.`,
      checking: (received) => `We received ${received} and are confirming who paid. Do not pay again.`,
      other: (received, payer, isReturned) =>
        `The payment of ${received} did not come from the holder of ${payer}${isReturned ? ', and was returned to the payer.' : ', and goes back to the payer. Do not pay again.'}`,
    },
    zone: 'Brasília',
    sandbox: 'Sandbox: no real money',
    sandboxPay: {
      about: 'Sandbox only: the test bank pays this charge.',
      button: 'Simulate payment',
    },
    footer: 'Payment by Pix',
    languages: 'Language',
    missing: {
      title: 'Charge not found',
      advice: 'Please check the link: part of it may be missing. If that does not help, ask the sender for a new one.',
    },
  },
  es: {
    states: {
      PENDING: { title: 'Esperando el pago', advice: null },
      CLOSING: {
        title: 'Plazo terminado',
        advice: 'Ya no pague este código. Si ya pagó, la confirmación aparecerá aquí en un momento.',
      },
      HELD: { title: 'Pago en revisión', advice: null },
      KEPT: { title: 'Pago recibido', advice: null },
      COMPLETED: { title: 'Pago confirmado', advice: 'Todo listo. Ya puede cerrar esta página.' },
      REFUNDED: { title: 'Pago devuelto', advice: 'El importe fue devuelto a la cuenta que hizo el pago.' },
      EXPIRED: {
        title: 'Cobro vencido',
        advice: 'Ya no pague este código. Pida un cobro nuevo a quien le envió este enlace.',
      },
      CANCELED: {
        title: 'Cobro cancelado',
        advice: 'Ya no pague este código. Fue cancelado por quien lo envió.',
      },
    },
    payTo: 'Pago a',
    bankShows: 'La aplicación del banco muestra:',
    backTo: 'Volver a',
    contact: '¿Dudas?',
    receipt: {
      link: 'Ver el recibo',
      title: 'Recibo',
      payee: 'Beneficiario',
      description: 'Descripción',
      endToEndId: 'ID de la transacción Pix',
      chargeId: 'ID del cobro',
      left: 'Pagado tras la devolución',
      about: 'El comprobante del Pix está en la aplicación del banco que pagó.',
    },
    code: {
      title: 'Pague con Pix',
      limits: (min, max) =>
        limitsOf(min, max, {
          both: `Usted elige el monto, de ${min} a ${max}.`,
          low: `Usted elige el monto, a partir de ${min}.`,
          high: `Usted elige el monto, hasta ${max}.`,
          free: 'Usted elige el monto.',
        }),
      lastStep: 'Escriba el monto, compruebe quién recibe y confirme. El comprobante queda en la aplicación del banco.',
      closedTitle: 'Código cerrado',
      closedAdvice: 'Ya no pague este código. Pida otro a quien lo envió.',
    },
    codeLabel: 'Código Pix para copiar y pegar',
    copy: 'Copiar código Pix',
    copied: 'Código copiado',
    notCopied: 'No se pudo copiar. Seleccione el código de arriba.',
    howTo: 'Cómo pagar',
    steps: [
      'Abra la aplicación de su banco y elija Pix.',
      'Escanee el código QR o pegue el código.',
      'Revise el importe y confirme. Esta página avisa cuando llegue el pago.',
    ],
    qrLabel: 'Código QR de Pix',
    payUntil: 'Pague hasta',
    timeLeft: 'Tiempo restante',
    paidAt: 'Pagado',
    expiredAt: 'Venció',
    refunded: 'Devuelto',
    held: (received, charged) =>
      `Recibimos ${received}, pero este cobro es de ${charged}. No pague de nuevo: quien le envió este enlace ya fue avisado.`,
    kept: (received, charged) =>
      `Recibimos ${received} de este cobro de ${charged}. No pague de nuevo. Si falta algo, hable con quien le envió este enlace.`,
    returned: (received, isOtherAmount) =>
      `Devolvimos ${received}${isOtherAmount ? ', que no era el importe de este cobro' : ''}.`,
    besides: {
      held: (more) =>
        `Además de este pago recibimos otros ${more}, que están en revisión. No pague de nuevo: quien le envió este enlace ya fue avisado.`,
      kept: (more) =>
        `Además de este pago recibimos otros ${more}. Si tiene dudas, hable con quien le envió este enlace.`,
      returned: (more) => `Devolvimos ${more}, que recibimos además de este pago.`,
    },
    payer: {
      only: (payer) => `Solo puede pagar el titular del ${payer}. El dinero de otra persona se devuelve.`,
      checking: (received) => `Recibimos ${received} y estamos confirmando quién pagó. No pague de nuevo.`,
      other: (received, payer, isReturned) =>
        `El pago de ${received} no vino del titular del ${payer}${isReturned ? ', y fue devuelto a quien pagó.' : ', y vuelve a quien pagó. No pague de nuevo.'}`,
    },
    zone: 'Brasilia',
    sandbox: 'Entorno de pruebas: sin dinero real',
    sandboxPay: {
      about: 'Solo en el entorno de pruebas: el banco de pruebas paga este cobro.',
      button: 'Simular el pago',
    },
    footer: 'Pago por Pix',
    languages: 'Idioma',
    missing: {
      title: 'Cobro no encontrado',
      advice: 'Revise el enlace: puede faltar una parte. Si no ayuda, pida uno nuevo a quien lo envió.',
    },
  },
}
