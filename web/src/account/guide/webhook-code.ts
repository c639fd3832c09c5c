export const receiverJs = `// npm install express standardwebhooks
import express from 'express'
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.WEBHOOK_SECRET) // whsec_…
const app = express()

// The signature is over the raw bytes, so no JSON parser may come first.
const raw = express.raw({ type: 'application/json' })

app.post('/webhooks/guiche', raw, (request, response) => {
  let event
  try {
    event = webhook.verify(request.body, request.headers)
  } catch {
    return response.sendStatus(400)
  }
  // Insert the header webhook-id into a table with a unique column:
  // where it is there already, the work is done.
  if (event.event === 'DEPOSIT_ASSET_SUCCESS') {
    console.log(event.data.creditedValue, 'cents credited')
  }
  response.sendStatus(204)
})
app.listen(3001)
`

const charge = {
  transactionId: '0199a3c2f4b87d6e9b1a5c0d3e2f4a68',
  paymentLinkId: '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57',
  externalId: 'order-1042',
}
const endToEndId = 'E12345678202611151204abcdefghijk'

export const depositEvent = text('DEPOSIT_ASSET_SUCCESS', {
  ...charge,
  value: 5000,
  originalValue: 5000,
  fee: 50,
  creditedValue: 4950,
  status: 'COMPLETED',
  paidLate: false,
  endToEndId,
  paidAt: '2026-11-15T12:04:31.000Z',
})

export const refundEvent = text('DEPOSIT_REFUNDED', {
  ...charge,
  refundId: '0199a3d07c5e7b1f8a2d4c6e9f0b1a35',
  refundedValue: 5000,
  totalRefundedValue: 5000,
  value: 5000,
  returnedFee: 0,
  status: 'COMPLETED',
  endToEndId,
  refundedAt: '2026-11-15T12:10:02.000Z',
})

function text(event: string, data: object): string {
  return JSON.stringify(
    { id: `evt_${event}_0199a3c2f4b87d6e9b1a5c0d3e2f4a69`, event, createdAt: '2026-11-15T12:04:32.000Z', data },
    null,
    2,
  )
}
