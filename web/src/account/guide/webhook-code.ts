import { EVENT_EXAMPLES } from '../../contract/events.ts'

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

export const depositEvent = JSON.stringify(EVENT_EXAMPLES.DEPOSIT_ASSET_SUCCESS, null, 2)
export const refundEvent = JSON.stringify(EVENT_EXAMPLES.DEPOSIT_REFUNDED, null, 2)
