// The measures in the order in which they run, with what they are compared with and what they should reach.
import { deliveryMeasures } from './measures/deliveries.mjs'
import { enduranceMeasures } from './measures/endurance.mjs'
import { lifeMeasures } from './measures/lives.mjs'
import { notificationMeasures } from './measures/notifications.mjs'
import { outageMeasures } from './measures/outage.mjs'
import { requestMeasures } from './measures/requests.mjs'
import { settlementMeasures } from './measures/settlement.mjs'

const RUNS = {
  ...requestMeasures,
  ...settlementMeasures,
  ...notificationMeasures,
  ...deliveryMeasures,
  ...lifeMeasures,
  ...enduranceMeasures,
  ...outageMeasures,
}

const SELECT = 'handler (SELECT)'
const ASKING = 'handler (SELECT + bank call)'

/**
 * `atLeast` is the ratio to reach. A measure with a target of another kind says itself whether it met it. The first one
 * needs a bank without earlier payments, and the last ones age the tables and the service.
 */
export const MEASURES = [
  { id: 12, name: '10,000 payments notified, 10 calls a second allowed', reference: 'one call each' },
  { id: 1, name: 'POST /api/deposit, key + idempotency key', reference: 'handler (bank call + INSERT)', atLeast: 1 },
  { id: 2, name: 'GET of 500 pending charges', reference: ASKING, atLeast: 1 },
  { id: 3, name: 'GET of one pending charge by 64 pollers', reference: ASKING, atLeast: 3 },
  { id: 4, name: 'GET of completed charges', reference: SELECT, atLeast: 2 },
  { id: 5, name: 'GET of completed charges', reference: 'Fastify, a constant of that size', atLeast: 0.6 },
  { id: 6, name: 'GET /api/balance', reference: SELECT, atLeast: 1 },
  { id: 7, name: 'GET /api/deposits?limit=50', reference: 'handler (SELECT of 50 rows)', atLeast: 0.8 },
  { id: 8, name: 'settle, one account, batches of 200', reference: 'TPC-B', atLeast: 3 },
  { id: 9, name: 'settle, one account', reference: 'settle, 1,000 accounts', atLeast: 0.9 },
  { id: 10, name: 'credited, 100 Pix per notification', reference: 'TPC-B', atLeast: 1 },
  { id: 11, name: 'credited, one Pix per notification', reference: 'handler (one INSERT each)', atLeast: 0.4 },
  { id: 13, name: 'webhook deliveries', reference: 'bare signing loop' },
  { id: 14, name: 'whole lives', reference: 'DBOS' },
  { id: 15, name: 'own time of POST at 100 a second', reference: 'Hyperswitch, as it reports' },
  { id: 19, name: 'refused deposit, with a bank that is down', reference: 'GET /api/balance' },
  { id: 17, name: '10 and 13 with an old snapshot', reference: 'without' },
  { id: 18, name: 'memory under whole lives', reference: 'before' },
  { id: 16, name: '1, 8 and 14 with a history', reference: 'fresh tables' },
].map((measure) => ({ ...measure, run: RUNS[measure.id] }))
