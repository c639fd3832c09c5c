import { writeTraceparent } from '../base/trace-context.ts'
import type { Tracer } from '../base/tracer.ts'
import type { WebhookSender } from '../domain/ports/webhook-sender.ts'

/**
 * Each attempt is a span in the trace of the charge that the event is about, whose id receivers know from the body.
 * They get its traceparent: signatures cover the id, the time and the body, and no other header.
 */
export function traceSender(tracer: Tracer, sender: WebhookSender): WebhookSender {
  return {
    ...sender,
    send: (request) => {
      const charge = /"transactionId":"([0-9a-f]{32})"/.exec(String(request.body))?.[1]
      const about = {
        name: 'deliver',
        kind: 'client',
        traceId: charge,
        attributes: {
          'guiche.event_id': request.headers['webhook-id'],
          'guiche.webhook_id': request.connectionGroup,
          'guiche.charge_id': charge,
        },
      } as const
      return tracer.span(about, async (span) => {
        const headers = { ...request.headers, traceparent: writeTraceparent(span) }
        const answer = await sender.send({ ...request, headers })
        if (answer.kind === 'failed') span.fail(answer.reason.code)
        else span.set({ 'http.response.status_code': answer.status })
        return answer
      })
    },
  }
}
