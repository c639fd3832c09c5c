import type { Scope } from '../accounts/callers.ts'
import { ROLE_NAMES, ROLES } from '../accounts/roles.ts'
import type { EventKind } from '../webhooks/event-kinds.ts'
import {
  borneText,
  dayText,
  depositPath,
  disputeEndText,
  disputeText,
  HELD,
  heldFor,
  momentText,
  natureText,
  ofDeposit,
  reais,
  releasedText,
  text,
  type NoticeData,
  type NoticeLanguage,
} from './notice-words.ts'

// All that people are told, once each: who is told, what of, and in which words. The bell, e-mails, the settings and
// the documents follow.

type Texts = Record<NoticeLanguage, string>

type Say = (data: NoticeData, language: NoticeLanguage) => string

/**
 * began: a trouble that ends, or news that have no end. ended: the trouble is over. `path` is the page of the dashboard
 * that shows it.
 */
type NoticeKindFacts = {
  /** Members whose role may do this are told, or operators, or the person that it is about. */
  to: Scope | 'operators' | 'person'
  name: Texts
  /** The events that tell of it. Without any, watch-states.ts finds it. */
  begins?: EventKind
  ends?: EventKind
  /** Of an event that begins it: nobody is told. */
  isQuiet?: (data: NoticeData) => boolean
  began: Say
  ended?: Say
  path: (data: NoticeData) => string
}

export const NOTICE_KINDS = {
  money_held: {
    to: 'deposits:read',
    name: { 'pt-BR': 'Pagamentos em análise', en: 'Payments under review' },
    begins: 'DEPOSIT_HELD',
    ends: 'DEPOSIT_RELEASED',
    // It ends by itself, nearly always within a second.
    isQuiet: (data) => data.reason === 'payer_unconfirmed',
    began: (data, language) =>
      language === 'en'
        ? `${reais(data.receivedValue)} arrived for the ${heldFor(data, language)}, ${HELD.en[text(data.reason)] ?? 'which it does not fit'}. It is under review until it is decided what becomes of the money.`
        : `Chegaram ${reais(data.receivedValue)} para o ${heldFor(data, language)}, ${HELD['pt-BR'][text(data.reason)] ?? 'que não combina com o valor'}. O valor está em análise até que se decida o que fazer com ele.`,
    ended: (data, language) =>
      language === 'en'
        ? `The payment of ${reais(data.receivedValue)}${ofDeposit(data, language)} ${releasedText(data, language)}.`
        : `O pagamento de ${reais(data.receivedValue)}${ofDeposit(data, language)} ${releasedText(data, language)}.`,
    path: depositPath,
  },
  refund_failed: {
    to: 'deposits:read',
    name: { 'pt-BR': 'Devoluções que falharam', en: 'Refunds that failed' },
    begins: 'REFUND_FAILED',
    began: (data, language) => {
      const isUndone = data.reason === 'undone'
      if (language === 'en')
        return `The refund of ${reais(data.refundValue)}${ofDeposit(data, language)} did not reach the payer. ${isUndone ? 'The bank took it back, and the service decides.' : 'The money is in your balance again.'}`
      return `A devolução de ${reais(data.refundValue)}${ofDeposit(data, language)} não chegou ao pagador. ${isUndone ? 'O banco a desfez, e o serviço decide.' : 'O dinheiro voltou ao seu saldo.'}`
    },
    path: depositPath,
  },
  deposit_reversed: {
    to: 'deposits:read',
    name: { 'pt-BR': 'Depósitos devolvidos pelo banco', en: 'Deposits returned by the bank' },
    begins: 'DEPOSIT_REVERSED',
    began: (data, language) =>
      language === 'en'
        ? `The bank returned ${reais(data.reversedValue)}${ofDeposit(data, language)} to the payer, without your request: ${natureText(data, language)}. ${borneText(data, language)}`
        : `O banco devolveu ${reais(data.reversedValue)}${ofDeposit(data, language)} ao pagador, sem você pedir: ${natureText(data, language)}. ${borneText(data, language)}`,
    path: depositPath,
  },
  balance_owed: {
    to: 'balance:read',
    name: { 'pt-BR': 'Valor devido', en: 'Money that you owe' },
    began: (data, language) =>
      language === 'en'
        ? `Your balance was too small for a deposit that the bank returned. You owe ${reais(data.owedCents)}, and the next money that comes in pays it.`
        : `O seu saldo não bastou para um depósito que o banco devolveu. Você deve ${reais(data.owedCents)}, e os próximos valores que entrarem pagam isso.`,
    ended: (_data, language) => (language === 'en' ? 'You owe nothing any more.' : 'Você não deve mais nada.'),
    path: () => '/statement',
  },
  webhook_failing: {
    to: 'webhooks:read',
    name: { 'pt-BR': 'Webhooks que falham', en: 'Webhooks that fail' },
    began: (data, language) =>
      language === 'en'
        ? `The webhook “${text(data.name)}” does not take its events. guiche goes on trying for five days.`
        : `O webhook “${text(data.name)}” não recebe os eventos. O guiche continua tentando por cinco dias.`,
    ended: (data, language) =>
      language === 'en'
        ? `The webhook “${text(data.name)}” no longer fails.`
        : `O webhook “${text(data.name)}” não está mais falhando.`,
    path: (data) => `/developers/webhooks/${text(data.webhookId)}`,
  },
  webhook_disabled: {
    to: 'webhooks:read',
    name: { 'pt-BR': 'Webhooks desativados', en: 'Webhooks that are disabled' },
    began: (data, language) =>
      language === 'en'
        ? `The webhook “${text(data.name)}” was disabled, because it took no event for days or refused them for good. It gets nothing until you enable it.`
        : `O webhook “${text(data.name)}” foi desativado, porque não recebeu nenhum evento por dias ou os recusou de vez. Ele não recebe nada até você o ativar.`,
    ended: (data, language) =>
      language === 'en'
        ? `The webhook “${text(data.name)}” is no longer disabled.`
        : `O webhook “${text(data.name)}” não está mais desativado.`,
    path: (data) => `/developers/webhooks/${text(data.webhookId)}`,
  },
  payout_paid: {
    to: 'payouts:read',
    name: { 'pt-BR': 'Repasses pagos', en: 'Payouts that were paid' },
    begins: 'PAYOUT_PAID',
    began: (data, language) =>
      language === 'en'
        ? `Your payout of ${reais(data.value)} was paid, with the bank reference ${text(data.reference)}.`
        : `O seu repasse de ${reais(data.value)} foi pago, com a referência bancária ${text(data.reference)}.`,
    path: () => '/payouts',
  },
  payout_rejected: {
    to: 'payouts:read',
    name: { 'pt-BR': 'Repasses recusados', en: 'Payouts that were rejected' },
    begins: 'PAYOUT_REJECTED',
    began: (data, language) =>
      language === 'en'
        ? `Your payout of ${reais(data.value)} was rejected: ${text(data.reason)}. The money is available again.`
        : `O seu repasse de ${reais(data.value)} foi recusado: ${text(data.reason)}. O valor está disponível de novo.`,
    path: () => '/payouts',
  },
  dispute_open: {
    to: 'deposits:read',
    name: { 'pt-BR': 'Pagamentos contestados', en: 'Payments that are disputed' },
    began: disputeText,
    ended: disputeEndText,
    path: ({ disputeId }) => `/disputes/${text(disputeId)}`,
  },
  key_created: {
    to: 'keys:read',
    name: { 'pt-BR': 'Novas chaves de API', en: 'New API keys' },
    begins: 'KEY_CREATED',
    began: (data, language) =>
      language === 'en'
        ? `An API key that begins with ${text(data.prefix)} was made for your account. If nobody of you made it, revoke it.`
        : `Uma chave de API que começa com ${text(data.prefix)} foi criada para a sua conta. Se ninguém de vocês a criou, revogue-a.`,
    path: () => '/developers',
  },
  new_sign_in: {
    to: 'person',
    name: { 'pt-BR': 'Acesso de um lugar novo', en: 'Sign-in from a new place' },
    began: (data, language) =>
      language === 'en'
        ? `Somebody signed in as you from a network that you had not used before (${text(data.network)}). If it was not you, change your password.`
        : `Alguém entrou com o seu acesso por uma rede que você não tinha usado (${text(data.network)}). Se não foi você, troque a senha.`,
    path: () => '/settings',
  },
  exception_open: {
    to: 'operators',
    name: { 'pt-BR': 'Exceções abertas', en: 'Open exceptions' },
    began: (data, language) =>
      language === 'en'
        ? `An exception waits for a decision${data.amountCents === null ? '' : `: ${reais(data.amountCents)}`}.`
        : `Uma exceção espera por uma decisão${data.amountCents === null ? '' : `: ${reais(data.amountCents)}`}.`,
    ended: (data, language) =>
      language === 'en'
        ? `An exception${data.amountCents === null ? '' : ` of ${reais(data.amountCents)}`} is decided.`
        : `Uma exceção${data.amountCents === null ? '' : ` de ${reais(data.amountCents)}`} foi decidida.`,
    path: ({ exceptionId }) => `/operator/exceptions/${text(exceptionId)}`,
  },
  reversal: {
    to: 'operators',
    name: { 'pt-BR': 'Devoluções feitas pelo banco', en: 'Reversals' },
    begins: 'DEPOSIT_REVERSED',
    began: (data, language) =>
      language === 'en'
        ? `The bank returned ${reais(data.reversedValue)}${ofDeposit(data, language)} without a request: ${natureText(data, language)}.`
        : `O banco devolveu ${reais(data.reversedValue)}${ofDeposit(data, language)} sem ninguém pedir: ${natureText(data, language)}.`,
    path: () => '/operator/reversals',
  },
  account_owes: {
    to: 'operators',
    name: { 'pt-BR': 'Contas que devem', en: 'Accounts that owe' },
    began: (data, language) =>
      language === 'en'
        ? `The account ${text(data.email)} owes ${reais(data.owedCents)}, because the bank returned more than its balance held.`
        : `A conta ${text(data.email)} deve ${reais(data.owedCents)}, porque o banco devolveu mais do que havia no saldo.`,
    ended: (data, language) =>
      language === 'en'
        ? `The account ${text(data.email)} owes nothing any more.`
        : `A conta ${text(data.email)} não deve mais nada.`,
    path: ({ accountId }) => `/operator/accounts/${text(accountId)}`,
  },
  dispute_waits: {
    to: 'operators',
    name: { 'pt-BR': 'Contestações abertas', en: 'Open disputes' },
    began: disputeText,
    ended: disputeEndText,
    path: ({ disputeId }) => `/operator/disputes/${text(disputeId)}`,
  },
  provider_down: {
    to: 'operators',
    name: { 'pt-BR': 'Provedores fora do ar', en: 'Providers that are down' },
    began: (data, language) =>
      language === 'en'
        ? `The provider ${text(data.provider)} does not answer. Calls to it are held back.`
        : `O provedor ${text(data.provider)} não responde. As chamadas a ele estão suspensas.`,
    ended: (data, language) =>
      language === 'en'
        ? `The provider ${text(data.provider)} answers again.`
        : `O provedor ${text(data.provider)} voltou a responder.`,
    path: () => '/operator/providers',
  },
  closing_differs: {
    to: 'operators',
    name: { 'pt-BR': 'Fechamentos com diferenças', en: 'Closings with differences' },
    began: (data, language) =>
      language === 'en'
        ? `The closing of ${dayText(data.day, language)} differs from the list of ${text(data.provider)} in ${data.count === 1 ? 'one place' : `${text(data.count)} places`}.`
        : `O fechamento de ${dayText(data.day, language)} difere da lista de ${text(data.provider)} em ${data.count === 1 ? 'um ponto' : `${text(data.count)} pontos`}.`,
    ended: (data, language) =>
      language === 'en'
        ? `The closing of ${dayText(data.day, language)} agrees with the list of ${text(data.provider)} now.`
        : `O fechamento de ${dayText(data.day, language)} agora confere com a lista de ${text(data.provider)}.`,
    path: ({ day }) => `/operator/reconciliation/${text(day)}`,
  },
  certificate_ends: {
    to: 'operators',
    name: { 'pt-BR': 'Certificados que vencem', en: 'Certificates that expire' },
    began: (data, language) =>
      language === 'en'
        ? `The certificate by which the provider ${text(data.provider)} knows guiche expires on ${dayText(data.day, language)}. After that no call to it works. Get a new one from the bank.`
        : `O certificado pelo qual o provedor ${text(data.provider)} reconhece o guiche vence em ${dayText(data.day, language)}. Depois disso nenhuma chamada a ele funciona. Peça um novo ao banco.`,
    ended: (data, language) =>
      language === 'en'
        ? `The certificate for the provider ${text(data.provider)} that expires on ${dayText(data.day, language)} was replaced.`
        : `O certificado do provedor ${text(data.provider)} que vence em ${dayText(data.day, language)} foi substituído.`,
    path: () => '/operator/providers',
  },
  backup_old: {
    to: 'operators',
    name: { 'pt-BR': 'Backup atrasado', en: 'Backups that are too old' },
    began: (data, language) =>
      language === 'en'
        ? `${data.lastAt === null ? 'No backup was ever recorded' : `The newest backup is of ${momentText(data.lastAt, language)}`}. One is expected every ${text(data.hours)} hours.`
        : `${data.lastAt === null ? 'Nenhum backup foi registrado até agora' : `O backup mais recente é de ${momentText(data.lastAt, language)}`}. Espera-se um a cada ${text(data.hours)} horas.`,
    ended: (_data, language) => (language === 'en' ? 'A new backup was recorded.' : 'Um novo backup foi registrado.'),
    path: () => '/operator',
  },
} as const satisfies Record<string, NoticeKindFacts>

export type NoticeKind = keyof typeof NOTICE_KINDS
export const NOTICE_KIND_NAMES = Object.keys(NOTICE_KINDS) as NoticeKind[]

export type What = 'news' | 'began' | 'ended'

export function noticeFacts(kind: NoticeKind): NoticeKindFacts {
  return NOTICE_KINDS[kind]
}

/** In SQL, the kinds with the roles of members who are told: those who may see what it is about. */
export const TOLD_ROLES = `values ${NOTICE_KIND_NAMES.flatMap((kind) =>
  ROLE_NAMES.filter((role) => ROLES[role].some((scope) => scope === noticeFacts(kind).to)).map(
    (role) => `('${kind}', '${role}')`,
  ),
).join(', ')}`

/** A trouble has an end, and is told again when it is over. */
export function isTrouble(kind: NoticeKind): boolean {
  return noticeFacts(kind).ended !== undefined
}

/** In one sentence or two. */
export function noticeText(
  notice: { kind: NoticeKind; what: What; data: NoticeData },
  language: NoticeLanguage,
): string {
  const { began, ended } = noticeFacts(notice.kind)
  // What ends without having begun is told by its end alone.
  const say = isTrouble(notice.kind) && notice.what !== 'began' ? ended! : began
  return say(notice.data, language)
}
