import { guiche } from './guiche.ts'

const { paymentLinkId } = await guiche.deposits.ensure({ externalId: 'order-1042', value: 50_00 })
const deposit = await guiche.deposits.retrieve(paymentLinkId)
if (deposit.status === 'COMPLETED') console.log(`paid, ${deposit.creditedValue} cents credited`)
else if (deposit.heldValue > 0)
  console.log(`${deposit.heldValue} cents are under review: do not ask for another payment`)
else console.log(deposit.status)
