import { guiche } from './guiche.ts'

const deposit = await guiche.deposits.ensure({ externalId: 'order-1042', value: 50_00 })
console.log(deposit.status, deposit.paymentLinkUrl)
