import { guiche } from './guiche.ts'

const { available } = await guiche.balance.get()
const payout = await guiche.payouts.create({ value: 10_00, note: 'Week 5' }, { idempotencyKey: 'payout-week-5' })
console.log(available, payout.value, payout.status)
