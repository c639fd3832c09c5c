// Creates a deposit and waits until it is paid: GUICHE_URL=https://… GUICHE_KEY=gk_test_… node deposit.ts order-1042

import { GuicheError, makeGuiche } from '@guiche/sdk'

const { GUICHE_URL = '', GUICHE_KEY = '' } = process.env
const guiche = makeGuiche({ url: GUICHE_URL, key: GUICHE_KEY })
const order = process.argv[2] ?? 'order-1042'

try {
  // With an externalId, a restart of this program cannot create a second charge for the order either.
  const charge = await guiche.deposits.create({ value: 50_00, externalId: order })
  if (charge.status === 'PENDING') process.stdout.write(`Pay with this code: ${charge.emv}\n`)
  const paid = await guiche.deposits.waitUntilPaid(charge.paymentLinkId)
  process.stdout.write(`${paid.creditedValue} cents credited\n`)
} catch (error) {
  if (!(error instanceof GuicheError)) throw error
  process.stderr.write(`${error.code}: ${error.message}\n`)
  process.exitCode = 1
}
