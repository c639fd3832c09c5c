import { receiveWebhooks } from '@guiche/sdk/next'
import { PRICE_CENTS } from '../../price.js'
import { deliver } from '../../store.js'

export const POST = receiveWebhooks({
  secret: () => process.env['WEBHOOK_SECRET'],
  onEvent: (event) => deliver(event, PRICE_CENTS),
})
