import { z } from 'zod'
import { READABLE_RULE } from '../../base/readable-text.ts'
import { invalidField } from '../../base/fault.ts'
import { actorOf } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import {
  DISPUTE_STATUSES,
  EVIDENCE_STATUSES,
  EVIDENCE_TYPES,
  type Dispute,
} from '../../domain/disputes/dispute-states.ts'
import { listDisputes, readDispute } from '../../domain/disputes/disputes.ts'
import { giveEvidence, MAX_EVIDENCE_BYTES, type NewEvidence } from '../../domain/disputes/evidence.ts'
import {
  BODY_ERROR,
  cents,
  describeOperations,
  listQuery,
  nextCursor,
  oneOf,
  response,
  text,
  time,
  type Api,
} from '../server/schemas.ts'

export function disputeRoutes(app: Api, ctx: Context): void {
  const reading = { scope: 'deposits:read' } as const
  app.get('/api/disputes', { schema: routes.listDisputes, config: reading }, async (request) => {
    const filter = { ...request.query, accountId: request.caller.accountId }
    const { disputes, nextCursor } = await listDisputes(ctx, filter)
    return { success: true as const, disputes: disputes.map(presentDispute), nextCursor }
  })

  app.get('/api/disputes/:disputeId', { schema: routes.getDispute, config: reading }, async (request) => {
    const dispute = await readDispute(ctx, request.caller.accountId, request.params.disputeId)
    return { success: true as const, dispute: presentDispute(dispute) }
  })

  const giving = { schema: routes.giveEvidence, config: { scope: 'refunds:write', fresh: true } as const }
  const evidence = { ...giving, bodyLimit: EVIDENCE_BODY_BYTES }
  app.post('/api/disputes/:disputeId/evidence', evidence, async (request, reply) => {
    const of = { accountId: request.caller.accountId, disputeId: request.params.disputeId }
    const dispute = await giveEvidence(ctx, actorOf(request.caller), of, evidenceOf(request.body))
    reply.code(202)
    return { success: true as const, dispute: presentDispute(dispute) }
  })
}

// Base64 has four characters for three bytes; the rest is for the other fields.
export const EVIDENCE_BODY_BYTES = (MAX_EVIDENCE_BYTES / 3) * 4 + 16 * 1024

export const disputeParams = z.object({ disputeId: z.string().meta({ description: 'The `id` of the dispute.' }) })

export const disputesQuery = {
  status: oneOf('status', DISPUTE_STATUSES).exactOptional().meta({ description: 'Only disputes with this status.' }),
  paymentLinkId: z.string().exactOptional().meta({ description: 'Only disputes about this deposit.' }),
  ...listQuery,
}

export const evidenceBody = z.object(
  {
    fileName: text({ min: 1, max: 100 }, `fileName must be 1 to 100 characters, ${READABLE_RULE}`).meta({
      description: 'Its name, for yourself.',
      examples: ['delivery.pdf'],
    }),
    content: z.string({ error: 'content must be the file in Base64' }).meta({
      description: 'A PDF, PNG or JPEG file of at most 3 MiB, in Base64.',
      contentEncoding: 'base64',
      examples: ['JVBERi0xLjQK'],
    }),
    description: text({ min: 0, max: 500 }, `description must be at most 500 characters, ${READABLE_RULE}`)
      .nullish()
      .meta({ description: 'What it shows. The bank reads it.', examples: ['Signed receipt of the delivery'] }),
  },
  { error: BODY_ERROR },
)

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

export function evidenceOf({ fileName, content, description }: z.infer<typeof evidenceBody>): NewEvidence {
  if (!BASE64.test(content)) throw invalidField('content', 'content must be the file in Base64')
  return { fileName, content: Buffer.from(content, 'base64'), description: description || null }
}

const evidenceShape = {
  id: z.string(),
  fileName: z.string(),
  fileType: z.enum(EVIDENCE_TYPES),
  fileBytes: z.int(),
  sha256: z.string().meta({ description: 'Of the file, in hexadecimal. Its bytes are kept only until it was sent.' }),
  description: z.string().nullable(),
  status: z.enum(EVIDENCE_STATUSES).meta({
    description: 'SENDING: on its way. SENT: the bank took it. REFUSED: it did not, and `failure` says why.',
  }),
  failure: z.string().nullable(),
  givenAt: time,
  endedAt: time.nullable().meta({ description: 'When it was sent or refused.' }),
}

export const disputeShape = {
  id: z.string().meta({ description: '32 hexadecimal digits. Events and the statement call it `disputeId`.' }),
  status: z.enum(DISPUTE_STATUSES).meta({
    description:
      'OPEN: not decided yet. ACCEPTED: the payer got the money. REJECTED: the account keeps it. CANCELED: the payer gave up.',
  }),
  value: cents.meta({ description: 'What the payer wants back, in cents.' }),
  held: cents.meta({
    description:
      'What was set aside for it, in cents: at most what was available. It stays set aside while the dispute is OPEN.',
  }),
  reason: z.string().nullable().meta({ description: 'Why, in the words of the payer or the bank.' }),
  paymentLinkId: z.string().nullable().meta({ description: 'The deposit that it is about.' }),
  externalId: z.string().nullable(),
  endToEndId: z.string().meta({ description: 'The id of the payment in Pix.' }),
  openedAt: time,
  deadlineAt: time.meta({
    description: 'Seven days after it was opened: by the rules of Pix the bank decides until then.',
  }),
  endedAt: time.nullable().meta({ description: 'When we learned that it ended.' }),
}

const disputeSchema = z
  .object({
    ...disputeShape,
    evidence: z.object({ ...evidenceShape, givenBy: z.enum(['account', 'operator']) }).array(),
  })
  .meta({ id: 'Dispute' })

export const operatorEvidenceSchema = z.object({
  ...evidenceShape,
  givenBy: z.string().meta({ description: 'Who gave it.' }),
})

export function presentFields(dispute: Dispute) {
  const { id, status, amountCents, heldCents, reason, paymentLinkId, externalId, endToEndId } = dispute
  return {
    id,
    status,
    value: amountCents,
    held: heldCents,
    reason,
    paymentLinkId,
    externalId,
    endToEndId,
    openedAt: dispute.openedAt.toISOString(),
    deadlineAt: dispute.deadlineAt.toISOString(),
    endedAt: dispute.endedAt?.toISOString() ?? null,
  }
}

/** As the account holder sees it: without the names of operators. */
function presentDispute(dispute: Dispute) {
  const evidence = dispute.evidence.map(({ givenBy, ...file }) => {
    return { ...file, givenBy: givenBy.kind === 'account' ? ('account' as const) : ('operator' as const) }
  })
  return { ...presentFields(dispute), evidence }
}

export const EVIDENCE_ERRORS = {
  400: 'The file is no PDF, PNG or JPEG of at most 3 MiB, or a field is invalid. The text says what is allowed.',
  409: 'The dispute has ended, or it has ten files.',
  413: 'The body is larger than 4 MiB.',
}

const NOT_FOUND = '`Dispute not found`: the id is unknown, malformed, or belongs to another account.'

const routes = describeOperations('Disputes', {
  listDisputes: {
    summary: 'List disputes',
    description: 'Newest first, in pages. Needs the scope `deposits:read`.',
    querystring: z.object(disputesQuery),
    response: { 200: response('A page of disputes.', { disputes: disputeSchema.array(), nextCursor }) },
  },
  getDispute: {
    summary: 'Get a dispute',
    description: 'In its current state, with the evidence that was given. Needs the scope `deposits:read`.',
    params: disputeParams,
    response: { 200: response('The dispute.', { dispute: disputeSchema }) },
    errors: { 404: NOT_FOUND },
  },
  giveEvidence: {
    summary: 'Give evidence in a dispute',
    description:
      'Sends a file to the bank that decides. The answer comes before the file was sent: read the dispute again for its `status`. The same file again changes nothing. Needs the scope `refunds:write`.',
    params: disputeParams,
    body: evidenceBody,
    response: { 202: response('The dispute, with the file.', { dispute: disputeSchema }) },
    errors: { ...EVIDENCE_ERRORS, 404: NOT_FOUND },
  },
})
