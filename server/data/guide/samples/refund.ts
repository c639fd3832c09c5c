import { guiche } from './guiche.ts'

const { items } = await guiche.deposits.listByOrder('order-1042').page()
const paid = items.find(({ status }) => status === 'COMPLETED')
if (!paid) throw new Error('the order is not paid')
const refund = await guiche.refunds.create(
  paid.paymentLinkId,
  { value: 20_00, reason: 'One item was returned' },
  { idempotencyKey: 'return-77' },
)
console.log(refund.value, refund.status)
