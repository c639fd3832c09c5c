import { GuicheError } from '@guiche/sdk'
import { guiche } from './guiche.ts'

try {
  await guiche.deposits.ensure({ externalId: 'order-1042', value: 99_00 })
} catch (error) {
  if (!(error instanceof GuicheError) || error.code !== 'order_paid') throw error
  console.log(error.code, error.status, error.requestId)
}
