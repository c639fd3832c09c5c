import { translations } from '../../base/language.ts'
import type { Pair } from '../../base/pair.ts'
import type { PaymentData } from '../../contract/types.ts'

// What became of a charge, in words for who stands at the counter: what happened, and what to do.

export type Outcome = Exclude<PaymentData['state'], 'PENDING'> | 'TWICE'

/** Undefined while the payer can pay. More money than the charge asked for is held, and so never a plain "paid". */
export function outcomeOf(data: PaymentData | undefined, secondsLeft: number | undefined): Outcome | undefined {
  if (!data) return undefined
  if (data.state === 'COMPLETED' && data.heldValue > 0) return 'TWICE'
  if (data.state !== 'PENDING') return data.state
  return secondsLeft === 0 ? 'CLOSING' : undefined
}

type Words = (data: PaymentData, money: (cents: number) => string) => Pair

const NOT_PAID: Pair = [
  'Ainda não conta como pago. Não peça outro pagamento: a equipe do guiche decide se conclui, credita ou devolve.',
  'It does not count as paid yet. Do not ask for another payment: the guiche team decides whether to complete, credit or refund it.',
]

export const useOutcomeTexts = translations<Record<Outcome, { title: Pair; text: Words }>>({
  COMPLETED: {
    title: ['Pago', 'Paid'],
    text: ({ refundedValue }, money) =>
      refundedValue > 0 ? [`Devolvido: ${money(refundedValue)}`, `Refunded: ${money(refundedValue)}`] : ['', ''],
  },
  TWICE: {
    title: ['Pago, e chegou mais dinheiro', 'Paid, and more money arrived'],
    text: ({ heldValue }, money) => [
      `Chegaram mais ${money(heldValue)} para esta cobrança, que já estava paga. Esse valor está em análise: não devolva por fora. A equipe do guiche credita ou devolve.`,
      `Another ${money(heldValue)} arrived for this charge, which was already paid. That amount is under review: do not give it back by hand. The guiche team credits or refunds it.`,
    ],
  },
  HELD: {
    title: ['Pagamento em análise', 'Payment under review'],
    text: ({ heldValue, value }, money) =>
      heldValue === value
        ? NOT_PAID
        : [
            `Recebemos ${money(heldValue)}, mas a cobrança é de ${money(value)}. ${NOT_PAID[0]}`,
            `We received ${money(heldValue)}, but the charge is for ${money(value)}. ${NOT_PAID[1]}`,
          ],
  },
  KEPT: {
    title: ['Outro valor recebido', 'Different amount received'],
    text: ({ keptValue }, money) => [
      `Recebemos ${money(keptValue)}, e a equipe do guiche já resolveu. Se ainda faltar algo, faça outra cobrança.`,
      `We received ${money(keptValue)}, and the guiche team resolved it. If anything is still due, make another charge.`,
    ],
  },
  REFUNDED: {
    title: ['Devolvido', 'Refunded'],
    text: () => ['O valor voltou para quem pagou.', 'The amount went back to the payer.'],
  },
  EXPIRED: {
    title: ['Expirou sem pagamento', 'Expired without payment'],
    text: () => [
      'Este código não vale mais. Se o cliente ainda quer pagar, cobre de novo.',
      'This code is no longer valid. If the customer still wants to pay, charge again.',
    ],
  },
  CANCELED: {
    title: ['Cobrança cancelada', 'Charge canceled'],
    text: () => ['Este código não vale mais, e nada foi pago.', 'This code is no longer valid, and nothing was paid.'],
  },
  CLOSING: {
    title: ['Prazo encerrado', 'Time is over'],
    text: () => [
      'Não deixe pagar este código agora. Se o cliente já pagou, a confirmação aparece aqui em instantes.',
      'Do not let anybody pay this code now. If the customer has paid, the confirmation appears here in a moment.',
    ],
  },
})

/** Only money that completed the charge is green. */
export const GROUNDS: Record<Outcome, string> = {
  COMPLETED: 'bg-accent text-on-accent',
  TWICE: 'bg-wait-ground text-wait',
  HELD: 'bg-wait-ground text-wait',
  KEPT: 'bg-mark-ground text-mark',
  REFUNDED: 'bg-mark-ground text-mark',
  EXPIRED: 'bg-still-ground text-ink',
  CANCELED: 'bg-still-ground text-ink',
  CLOSING: 'bg-wait-ground text-wait',
}
