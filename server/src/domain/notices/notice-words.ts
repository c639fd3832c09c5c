import { formatReais } from '../../base/money.ts'

// Words that several kinds of notice share.

export const NOTICE_LANGUAGES = ['pt-BR', 'en'] as const
export type NoticeLanguage = (typeof NOTICE_LANGUAGES)[number]

/** What an event or a state says of itself. */
export type NoticeData = Record<string, unknown>

export const HELD: Record<NoticeLanguage, Record<string, string>> = {
  en: {
    wrong_amount: 'which has another value',
    second_payment: 'which was paid before',
    wrong_provider: 'which belongs to another bank',
    refunded_payment: 'and the bank had returned it',
    code_closed: 'which is closed',
    code_limits: 'whose limits it does not fit',
  },
  'pt-BR': {
    wrong_amount: 'que tem outro valor',
    second_payment: 'que já tinha sido pago',
    wrong_provider: 'que é de outro banco',
    refunded_payment: 'e o banco já os tinha devolvido',
    code_closed: 'que está encerrado',
    code_limits: 'fora dos limites dele',
  },
}

const RELEASED: Record<NoticeLanguage, Record<string, string>> = {
  en: {
    completed: 'completed its deposit after all',
    credited: 'was credited to your balance',
    credited_elsewhere: 'belonged to another account and was credited there',
    refunded: 'was returned to the payer',
    written_off: 'was not credited, by decision of the service',
  },
  'pt-BR': {
    completed: 'acabou concluindo o depósito',
    credited: 'foi creditado no seu saldo',
    credited_elsewhere: 'era de outra conta e foi creditado nela',
    refunded: 'foi devolvido ao pagador',
    written_off: 'não foi creditado, por decisão do serviço',
  },
}

export function releasedText({ outcome }: NoticeData, language: NoticeLanguage): string {
  return (
    RELEASED[language][text(outcome)] ?? (language === 'en' ? 'is no longer under review' : 'não está mais em análise')
  )
}

const NATURE_TEXTS: Record<NoticeLanguage, Record<string, string>> = {
  en: {
    fraud: 'the payer reported a fraud',
    operational: 'the payer’s bank made a mistake',
    automatic: 'a recurring payment should not have been made',
  },
  'pt-BR': {
    fraud: 'o pagador relatou uma fraude',
    operational: 'o banco do pagador cometeu um erro',
    automatic: 'um pagamento recorrente não devia ter sido feito',
  },
}

export function natureText({ nature }: NoticeData, language: NoticeLanguage): string {
  return NATURE_TEXTS[language][text(nature)] ?? (language === 'en' ? 'it does not say why' : 'ele não diz por quê')
}

export function borneText({ chargedValue, owedValue }: NoticeData, language: NoticeLanguage): string {
  if (chargedValue === null)
    return language === 'en' ? 'The service decides who bears it.' : 'O serviço decide quem arca com isso.'
  const [charged, owed] = [reais(chargedValue), reais(owedValue)]
  if (owedValue === 0) return language === 'en' ? `Your balance paid ${charged}.` : `O seu saldo pagou ${charged}.`
  return language === 'en'
    ? `Your balance paid ${charged}, and you owe ${owed}.`
    : `O seu saldo pagou ${charged}, e você deve ${owed}.`
}

export function disputeText(data: NoticeData, language: NoticeLanguage): string {
  const until = momentText(data.deadlineAt, language)
  const isNear = data.stage === 'near'
  if (language === 'en')
    return `A payer disputes a payment: ${reais(data.amountCents)}${isNear ? ', and less than 48 hours are left' : ''}. Evidence counts until ${until}.`
  return `Um pagador contesta um pagamento: ${reais(data.amountCents)}${isNear ? ', e faltam menos de 48 horas' : ''}. As provas valem até ${until}.`
}

export function disputeEndText(data: NoticeData, language: NoticeLanguage): string {
  return language === 'en'
    ? `The dispute about ${reais(data.amountCents)} has ended.`
    : `A contestação de ${reais(data.amountCents)} foi encerrada.`
}

/** The account holder's own name for it, or else what its page shows. */
function nameOf({ externalId, paymentLinkId }: NoticeData): string {
  return text(externalId) || text(paymentLinkId).slice(-8)
}

export function ofDeposit(data: NoticeData, language: NoticeLanguage): string {
  if (text(data.paymentLinkId) === '' && text(data.code) === '') return ''
  return `${language === 'en' ? ' for the' : ' do'} ${heldFor(data, language)}`
}

/** A deposit, or a code that did not take the money. */
export function heldFor(data: NoticeData, language: NoticeLanguage): string {
  if (text(data.paymentLinkId) === '') return `${language === 'en' ? 'code' : 'código'} ${text(data.code)}`
  return `${language === 'en' ? 'deposit' : 'depósito'} ${nameOf(data)}`
}

export function depositPath({ paymentLinkId, code }: NoticeData): string {
  if (text(paymentLinkId) === '' && text(code) !== '') return `/codes/${encodeURIComponent(text(code))}`
  return text(paymentLinkId) === '' ? '/deposits' : `/deposits/${text(paymentLinkId)}`
}

export function reais(cents: unknown): string {
  return formatReais(Number(cents))
}

export function dayText(day: unknown, language: NoticeLanguage): string {
  return FORMATS[language].day.format(new Date(`${text(day)}T12:00:00-03:00`))
}

/** In Brasília time, as everywhere on the pages. */
export function momentText(at: unknown, language: NoticeLanguage): string {
  return FORMATS[language].moment.format(at instanceof Date ? at : new Date(text(at)))
}

const FORMATS = { 'pt-BR': formatsOf('pt-BR', 'short'), en: formatsOf('en-US', 'medium') } satisfies Record<
  NoticeLanguage,
  unknown
>

function formatsOf(locale: string, dateStyle: 'short' | 'medium') {
  const timeZone = 'America/Sao_Paulo'
  return {
    day: new Intl.DateTimeFormat(locale, { timeZone, dateStyle: 'medium' }),
    moment: new Intl.DateTimeFormat(locale, { timeZone, dateStyle, timeStyle: 'short' }),
  }
}

export function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
