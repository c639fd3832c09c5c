import { guiche } from './guiche.ts'

const { webhook, secret, test } = await guiche.webhooks.create({
  url: 'https://shop.example.com/guiche',
  events: ['DEPOSIT_ASSET_SUCCESS', 'DEPOSIT_EXPIRED', 'DEPOSIT_HELD', 'DEPOSIT_RELEASED'],
})
// Store the secret: it is shown only here.
console.log(webhook.id, secret, test)
