import { makeGuiche } from '@guiche/sdk'
import { PRICE_CENTS } from '../../price.js'

export async function POST() {
  const guiche = makeGuiche({ url: process.env['GUICHE_URL'], key: process.env['GUICHE_KEY'] })
  // Nobody can guess it, so whoever knows it may see what was delivered.
  const order = crypto.randomUUID()
  const { paymentLinkUrl } = await guiche.deposits.ensure({ externalId: order, value: PRICE_CENTS })
  return Response.json({ order, paymentLinkUrl }, { status: 201 })
}
