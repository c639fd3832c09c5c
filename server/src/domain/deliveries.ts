import { read } from '../db/tx.ts'
import type { Delivery } from './attempts.ts'
import type { Context } from './context.ts'
import type { CourierAnswer } from './courier.ts'
import { eventName } from './events.ts'
import { signMessage } from './signature.ts'

// The whole exchange: name, connection, request, answer.
export const DEADLINE_MS = 15_000
// An exchange, and as long again for writing down what came of it.
const LEASE_MS = 30_000
const UNOPENED = 'this service cannot open the webhook’s secrets: tell its operator'

export type Allowances = {
  /** How many an endpoint that is not named below may have at most. */
  usual: number
  named: Map<string, number>
  total: number
}

/**
 * Claims what is due, a few of each endpoint, so that one with a long queue takes no place from another. The walk over endpoints
 * goes by the index from one endpoint to the next, and costs the same however long their queues are.
 */
export async function claimDeliveries(ctx: Context, allowances: Allowances): Promise<Delivery[]> {
  const now = ctx.now()
  const leasedUntil = new Date(now.getTime() + LEASE_MS)
  const rows = await read<ClaimedRow>(
    ctx.pool,
    `with recursive waiting (endpoint_id) as (
         (select endpoint_id from deliveries order by endpoint_id limit 1)
         union all
         select (select d.endpoint_id from deliveries d where d.endpoint_id > w.endpoint_id order by d.endpoint_id limit 1)
         from waiting w where w.endpoint_id is not null
       ), allowed as (
         select w.endpoint_id, coalesce(n.allowed, $3::int) as places
         from waiting w left join unnest($4::uuid[], $5::int[]) as n (endpoint_id, allowed) using (endpoint_id)
         where w.endpoint_id is not null
       ), picked as (
         select due.event_id, due.endpoint_id
         from (select * from allowed where places > 0 order by random()) a
         cross join lateral (
           select event_id, endpoint_id from deliveries
           where endpoint_id = a.endpoint_id and due_at <= $1 order by due_at limit a.places for update skip locked
         ) due
         limit $6
       )
       update deliveries d set due_at = $2
       from picked p
       join events v on v.id = p.event_id
       join webhook_endpoints e on e.id = p.endpoint_id
       where d.event_id = p.event_id and d.endpoint_id = p.endpoint_id
       returning d.event_id, d.endpoint_id, d.attempts + 1 as attempt, v.body, e.url, e.secret_box, e.authorization_box, e.disabled_at,
         case when e.previous_secret_until > $1 then e.previous_secret_box end as previous_secret_box`,
    [
      now,
      leasedUntil,
      allowances.usual,
      [...allowances.named.keys()],
      [...allowances.named.values()],
      allowances.total,
    ],
  )
  const open = boxOpener(ctx)
  return rows.map((row) => deliveryFromRow(open, row, leasedUntil))
}

type ClaimedRow = {
  event_id: string
  endpoint_id: string
  attempt: number
  body: string
  url: string
  secret_box: string
  previous_secret_box: string | null
  authorization_box: string | null
  disabled_at: Date | null
}

function deliveryFromRow(open: BoxOpener, row: ClaimedRow, leasedUntil: Date): Delivery {
  return {
    eventId: row.event_id,
    endpointId: row.endpoint_id,
    leasedUntil,
    attempt: row.attempt,
    body: row.body,
    url: row.url,
    ...openBoxes(open, row),
    isDisabled: row.disabled_at !== null,
  }
}

/** Without secrets when they cannot be opened: that endpoint's deliveries fail, and must not take those claimed with them along. */
function openBoxes(open: BoxOpener, row: ClaimedRow): Pick<Delivery, 'secrets' | 'authorization'> {
  const opened = (box: string | null) => (box === null ? [] : open(box, row.endpoint_id))
  const [authorization = null] = opened(row.authorization_box)
  const isWhole = (authorization !== null) === (row.authorization_box !== null)
  // While a secret is being replaced one of the two is enough: receivers take either.
  return { secrets: isWhole ? [row.secret_box, row.previous_secret_box].flatMap(opened) : [], authorization }
}

/** An empty list for what cannot be opened. */
type BoxOpener = (box: string, endpointId: string) => string[]

/** A claim holds many deliveries of few endpoints, so each box is opened once for all of them. */
function boxOpener(ctx: Context): BoxOpener {
  const opened = new Map<string, string[]>()
  const open = (box: string, endpointId: string): string[] => {
    try {
      return [ctx.settings.secretBox.open(box, endpointId)]
    } catch (error) {
      ctx.log.error({ err: error, endpointId }, 'a secret of a webhook endpoint cannot be opened')
      return []
    }
  }
  return (box, endpointId) => {
    const key = `${endpointId} ${box}`
    const known = opened.get(key) ?? open(box, endpointId)
    opened.set(key, known)
    return known
  }
}

/** One attempt. Whatever happens comes back as a value. */
export async function sendDelivery(ctx: Context, delivery: Delivery, at: Date): Promise<CourierAnswer> {
  // The account holder reads this; what the operator has to mend stands in the log.
  if (delivery.secrets.length === 0) return { kind: 'failed', latencyMs: 0, reason: UNOPENED }
  // A lane for each endpoint: an account that lets its own address hang must not hold up others on the same host.
  const lane = delivery.endpointId
  return ctx.courier.send({ url: delivery.url, ...messageOf(delivery, at), deadlineMs: DEADLINE_MS, lane })
}

/** One that is not in the queue: what a test sends. */
export async function readDelivery(ctx: Context, eventId: string, endpointId: string): Promise<Delivery> {
  const [row] = await read<ClaimedRow>(
    ctx.pool,
    `select v.id as event_id, e.id as endpoint_id, 1 as attempt, v.body, e.url, e.secret_box, e.authorization_box, e.disabled_at,
       case when e.previous_secret_until > $3 then e.previous_secret_box end as previous_secret_box
     from events v, webhook_endpoints e where v.id = $1 and e.id = $2`,
    [eventId, endpointId, ctx.now()],
  )
  return deliveryFromRow(boxOpener(ctx), row!, ctx.now())
}

/** The id stays the same over all attempts, so that receivers can tell a repetition; the timestamp is each attempt's own. */
export function messageOf(
  delivery: Pick<Delivery, 'eventId' | 'body' | 'secrets' | 'authorization'>,
  now: Date,
): { headers: Record<string, string>; body: string } {
  const id = eventName(delivery.eventId)
  const timestamp = String(Math.floor(now.getTime() / 1000))
  return {
    body: delivery.body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'guiche',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signMessage(delivery.secrets, { id, timestamp, body: delivery.body }),
      ...(delivery.authorization !== null && { authorization: delivery.authorization }),
    },
  }
}
