import type { Pair } from '../../base/pair.ts'
import type { EventKind } from '../../contract/codes.ts'
import type { EVENT_FIELDS } from '../../contract/events.ts'

// What each field of an event says. It does not compile while a field has no text.

type Kinds = Pick<typeof EVENT_FIELDS, EventKind>
type FieldOf<Kind extends EventKind> = keyof Kinds[Kind] & string
type Field = { [Kind in EventKind]: FieldOf<Kind> }[EventKind]
type FieldOfKind = { [Kind in EventKind]: `${Kind}.${FieldOf<Kind>}` }[EventKind]

const TEXTS: Record<Field, Pair> = {
  transactionId: ['O `id` do depósito.', 'The `id` of the deposit.'],
  paymentLinkId: ['O `paymentLinkId` do depósito.', 'The `paymentLinkId` of the deposit.'],
  externalId: ['A sua referência, se você informou uma.', 'Your own reference, if you gave one.'],
  metadata: ['Os seus dados, como você os informou.', 'Your own data, as you gave them.'],
  value: ['O valor do depósito, em centavos.', 'The value of the deposit, in cents.'],
  originalValue: ['O valor que você pediu, em centavos.', 'The value that you asked for, in cents.'],
  fee: ['A tarifa, em centavos.', 'The fee, in cents.'],
  creditedValue: ['Quanto entrou no seu saldo, em centavos.', 'What was credited to your balance, in cents.'],
  code: ['O código pelo qual foi pago, se foi por um.', 'The code that it was paid by, if it was paid by one.'],
  payerMatch: ['Se quem pagou é a pessoa indicada.', 'Whether the person that was named paid.'],
  status: ['A situação depois do evento.', 'The status after the event.'],
  paidLate: [
    'Se foi pago depois de expirar ou ser cancelado.',
    'Whether it was paid after it expired or was canceled.',
  ],
  endToEndId: ['O número do pagamento no Pix.', 'The number of the payment in the Pix system.'],
  paidAt: ['Quando o pagador pagou.', 'When the payer paid.'],
  expiresAt: ['Até quando podia ser pago.', 'Until when it could be paid.'],
  receivedValue: ['Quanto chegou e está em análise, em centavos.', 'What arrived and is under review, in cents.'],
  reason: ['O motivo.', 'The reason.'],
  outcome: ['O que foi decidido.', 'What was decided.'],
  returnedValue: ['Quanto voltou ao pagador, em centavos.', 'What the payer got back, in cents.'],
  stillPayable: ['Se o depósito ainda podia ser pago.', 'Whether the deposit could still be paid.'],
  refundId: ['O `id` da devolução.', 'The `id` of the refund.'],
  refundedValue: ['Quanto esta devolução devolveu, em centavos.', 'What this refund gave back, in cents.'],
  refundValue: ['Quanto o pagador não recebeu, em centavos.', 'What the payer did not get, in cents.'],
  totalRefundedValue: [
    'Quanto todas as devoluções do depósito devolveram, em centavos.',
    'What all refunds of the deposit gave back, in cents.',
  ],
  nature: [
    'Por que o banco devolveu: `fraud` (fraude), `operational` (erro do banco do pagador), `automatic` (pagamento recorrente), `other`.',
    'Why the bank returned it: `fraud`, `operational` (a mistake of the payer’s bank), `automatic` (a recurring payment), `other`.',
  ],
  reversedValue: ['Quanto voltou ao pagador, em centavos.', 'What went back to the payer, in cents.'],
  chargedValue: [
    'Quanto saiu do seu saldo, em centavos. Nulo: a equipe do guiche decide.',
    'What was taken from your balance, in cents. Null: the guiche team decides.',
  ],
  owedValue: [
    'Quanto faltou no saldo e ficou devido, em centavos. Nulo: a equipe do guiche decide.',
    'What your balance lacked, which you owe, in cents. Null: the guiche team decides.',
  ],
  reversedAt: ['Quando o guiche soube da devolução.', 'When guiche learned of it.'],
  returnedFee: ['Quanto da tarifa voltou para você, em centavos.', 'What you got back of the fee, in cents.'],
  refundedAt: ['Quando o banco confirmou a devolução.', 'When the bank confirmed the refund.'],
  disputeId: ['O `id` da contestação.', 'The `id` of the dispute.'],
  disputedValue: ['Quanto o pagador quer de volta, em centavos.', 'What the payer wants back, in cents.'],
  heldValue: ['Quanto foi bloqueado do seu saldo, em centavos.', 'What was set aside of your balance, in cents.'],
  disputeReason: ['O motivo do pagador ou do banco.', 'Why, in the words of the payer or the bank.'],
  openedAt: ['Quando o pagador contestou o pagamento.', 'When the payer contested the payment.'],
  deadlineAt: ['Até quando as provas valem.', 'Until when your evidence counts.'],
  endedAt: ['Quando soubemos do fim.', 'When we learned that it ended.'],
  payoutId: ['O `id` do repasse.', 'The `id` of the payout.'],
  note: ['A sua anotação.', 'Your note.'],
  requestedAt: ['Quando você pediu o repasse.', 'When you asked for the payout.'],
  reference: ['Como o banco identifica a transferência.', 'By which the bank knows the transfer.'],
  webhookId: ['O `id` do webhook.', 'The `id` of the webhook.'],
  disabledAt: [
    'Quando foi desativado. Reenvie `since` desta hora para recuperar o que faltou.',
    'When it was disabled. Resend `since` this time to catch up.',
  ],
  keyId: ['O `id` da chave.', 'The `id` of the key.'],
  prefix: ['Como a chave começa. A chave não está em nenhum evento.', 'How the key begins. The key is in no event.'],
  scopes: ['O que a chave permite.', 'What the key allows.'],
}

/** Where a field means something else than elsewhere. */
const OF_KIND: Partial<Record<FieldOfKind, Pair>> = {
  'DEPOSIT_HELD.reason': ['Por que não conclui o depósito.', 'Why it does not complete the deposit.'],
  'DEPOSIT_RELEASED.receivedValue': ['Quanto havia chegado, em centavos.', 'What had arrived, in cents.'],
  'REFUND_FAILED.reason': [
    '`not_made`: o banco não a fez, e o valor voltou ao seu saldo. `undone`: o banco a fez e a desfez.',
    '`not_made`: the bank did not make it, and your balance has the money again. `undone`: the bank made it and took it back.',
  ],
  'REFUND_FAILED.totalRefundedValue': [
    'Quanto as outras devoluções do depósito devolveram, em centavos.',
    'What the other refunds of the deposit gave back, in cents.',
  ],
  'DISPUTE_ENDED.status': [
    '`ACCEPTED`: o pagador recebeu o valor. `REJECTED`: o valor é seu. `CANCELED`: o pagador desistiu.',
    '`ACCEPTED`: the payer got the money. `REJECTED`: you keep it. `CANCELED`: the payer gave up.',
  ],
  'PAYOUT_PAID.value': ['Quanto você pediu, em centavos.', 'What you asked for, in cents.'],
  'PAYOUT_REJECTED.value': ['Quanto você pediu, em centavos.', 'What you asked for, in cents.'],
  'PAYOUT_PAID.paidAt': ['O dia em que foi pago.', 'The day on which it was paid.'],
  'PAYOUT_REJECTED.reason': ['Por que foi recusado.', 'Why it was rejected.'],
  'WEBHOOK_DISABLED.reason': [
    'O código do motivo, como `failed_for_days`, `receiver_gone` ou `deleted`.',
    'The code of the reason, such as `failed_for_days`, `receiver_gone` or `deleted`.',
  ],
  'KEY_CREATED.expiresAt': ['Quando a chave expira. Nulo: nunca.', 'When the key expires. Null: never.'],
}

export function fieldText(kind: EventKind, field: string): Pair {
  const ofKind: Partial<Record<string, Pair>> = OF_KIND
  const texts: Record<string, Pair> = TEXTS
  return ofKind[`${kind}.${field}`] ?? texts[field]!
}
