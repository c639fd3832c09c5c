// Generated from the server’s schemas: UPDATE_CONTRACT=1 npx vitest run server/test/contract.test.ts

export const LINE_TITLES = {
  deposit: ['Depósito', 'Deposit'],
  matched_deposit: ['Depósito liberado pela equipe do guiche', 'Deposit released by the guiche team'],
  refund_reserved: ['Devolução', 'Refund'],
  refund_released: ['Devolução não realizada', 'Refund failed'],
  exception_credited: ['Crédito da equipe do guiche', 'Credit by the guiche team'],
  refund_charged: ['Devolução feita pela instituição', 'Refund made by the bank'],
  reversal_charged: ['Pagamento devolvido pelo banco', 'Payment returned by the bank'],
  debt_paid: ['Desconto do valor devido', 'Taken for what you owed'],
  payout_reserved: ['Repasse', 'Payout'],
  payout_returned: ['Repasse recusado', 'Payout rejected'],
  dispute_held: ['Valor bloqueado por contestação', 'Set aside for a dispute'],
  dispute_released: ['Valor desbloqueado', 'Dispute ended'],
} as const
