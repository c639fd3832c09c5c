// The measures, with what they are compared with and what they should reach.
import { requestMeasures } from './measures/requests.mjs'
import { settlementMeasures } from './measures/settlement.mjs'

const RUNS = { ...requestMeasures, ...settlementMeasures }

const SELECT = 'handler (SELECT)'
const ASKING = 'handler (SELECT + bank call)'

/** `atLeast` is the ratio to reach. A measure with targets of another kind says itself whether it met them. */
export const MEASURES = [
  { id: 1, name: 'POST /api/deposit, key + idempotency key', reference: 'handler (bank call + INSERT)', atLeast: 1 },
  { id: 2, name: 'GET of 500 pending charges', reference: ASKING, atLeast: 1 },
  { id: 3, name: 'GET of one pending charge by 64 pollers', reference: ASKING, atLeast: 3 },
  { id: 4, name: 'GET of completed charges', reference: SELECT, atLeast: 2 },
  { id: 5, name: 'GET of completed charges', reference: 'Fastify, a constant of that size', atLeast: 0.6 },
  { id: 6, name: 'GET /api/balance', reference: SELECT, atLeast: 1 },
  { id: 7, name: 'GET /api/deposits?limit=50', reference: 'handler (SELECT of 50 rows)', atLeast: 0.8 },
  { id: 8, name: 'settle, one account, batches of 200', reference: 'TPC-B', atLeast: 3 },
  { id: 9, name: 'settle, one account', reference: 'settle, 1,000 accounts', atLeast: 0.9 },
].map((measure) => ({ ...measure, run: RUNS[measure.id] }))
