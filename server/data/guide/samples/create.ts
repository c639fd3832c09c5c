import { guiche } from './guiche.ts'

// Store the key with your own record before the first attempt.
const idempotencyKey = 'cart-7b1f'
const deposit = await guiche.deposits.create({ value: 12_90, description: 'Coffee' }, { idempotencyKey })
console.log(deposit.paymentLinkId, deposit.status)
