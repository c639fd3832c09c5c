// Waits until an order is paid: GUICHE_URL=https://… GUICHE_KEY=gk_test_… node deposit.ts order-1042

import { GuicheError, makeGuiche } from '@guiche/sdk'

const { GUICHE_URL = '', GUICHE_KEY = '' } = process.env
const guiche = makeGuiche({ url: GUICHE_URL, key: GUICHE_KEY })
const order = process.argv[2] ?? 'order-1042'

try {
  // The one deposit of this order. Repeat it as often as you like: it never makes a second one that could be paid.
  const deposit = await guiche.deposits.ensure({ externalId: order, value: 50_00 })
  if (deposit.status === 'PENDING') process.stdout.write(`Pay with this code: ${deposit.emv}\n`)
  const paid = await guiche.deposits.waitUntilPaid(deposit.paymentLinkId)
  process.stdout.write(`${paid.creditedValue} cents credited\n`)
} catch (error) {
  if (!(error instanceof GuicheError)) throw error
  process.stderr.write(`${error.code}: ${error.message}\n`)
  process.exitCode = 1
}
