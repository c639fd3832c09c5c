import { guiche } from './guiche.ts'

for await (const { paymentLinkId } of guiche.deposits.listByOrder('order-1042')) {
  const { heldPayments } = await guiche.deposits.retrieve(paymentLinkId)
  for (const { value, reason, decision } of heldPayments) console.log(value, reason, decision ?? 'under review')
}
