import { z } from 'zod'
import { actorOf, OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import type { Dispute } from '../../domain/disputes/dispute-states.ts'
import { listDisputes, listOpenDisputes, readDispute } from '../../domain/disputes/disputes.ts'
import { giveEvidence } from '../../domain/disputes/evidence.ts'
import {
  disputeParams,
  disputeShape,
  disputesQuery,
  EVIDENCE_BODY_BYTES,
  EVIDENCE_ERRORS,
  evidenceBody,
  evidenceOf,
  operatorEvidenceSchema,
  presentFields,
} from '../api/disputes.ts'
import { describeOperations, idField, nextCursor, response, type Api } from '../server/schemas.ts'
import { actorText } from './refunds.ts'

export function operatorDisputeRoutes(app: Api, ctx: Context): void {
  const config = { scope: OPERATOR_SCOPE } as const

  app.get('/api/operator/disputes', { schema: routes.listAllDisputes, config }, async (request) => {
    const { disputes, nextCursor } = await listDisputes(ctx, request.query)
    return { success: true as const, disputes: disputes.map(presentDispute), nextCursor }
  })

  app.get('/api/operator/disputes/open', { schema: routes.listOpenDisputes, config }, async () => {
    return { success: true as const, disputes: (await listOpenDisputes(ctx)).map(presentDispute) }
  })

  const reading = { schema: routes.getAnyDispute, config }
  app.get('/api/operator/disputes/:disputeId', reading, async (request) => {
    const dispute = await readDispute(ctx, null, request.params.disputeId)
    return { success: true as const, dispute: presentDispute(dispute) }
  })

  const giving = { schema: routes.giveEvidenceFor, config: { ...config, fresh: true } as const }
  const evidence = { ...giving, bodyLimit: EVIDENCE_BODY_BYTES }
  app.post('/api/operator/disputes/:disputeId/evidence', evidence, async (request, reply) => {
    const of = { accountId: null, disputeId: request.params.disputeId }
    const dispute = await giveEvidence(ctx, actorOf(request.operator), of, evidenceOf(request.body))
    reply.code(202)
    return { success: true as const, dispute: presentDispute(dispute) }
  })
}

const operatorDisputeSchema = z
  .object({
    ...disputeShape,
    provider: z.string(),
    accountId: z.string().nullable().meta({ description: 'Null: the payment was in suspense.' }),
    email: z.string().nullable().meta({ description: 'Of the account.' }),
    evidence: operatorEvidenceSchema.array(),
  })
  .meta({ id: 'OperatorDispute' })

function presentDispute(dispute: Dispute) {
  const { provider, accountId, email } = dispute
  const evidence = dispute.evidence.map((file) => ({ ...file, givenBy: actorText(file.givenBy) }))
  return { ...presentFields(dispute), provider, accountId, email, evidence }
}

const NOT_FOUND = '`Dispute not found`: the id is unknown or malformed.'

const routes = describeOperations('Operator', {
  listAllDisputes: {
    summary: 'List disputes of all accounts',
    description: 'Newest first, in pages. Needs an operator’s key.',
    querystring: z.object({
      ...disputesQuery,
      accountId: idField('accountId', 'an account')
        .exactOptional()
        .meta({ description: 'Only disputes of this account.' }),
    }),
    response: { 200: response('A page of disputes.', { disputes: operatorDisputeSchema.array(), nextCursor }) },
  },
  listOpenDisputes: {
    summary: 'List open disputes by their deadline',
    description: 'The next deadline first, at most 200. Needs an operator’s key.',
    response: { 200: response('The disputes.', { disputes: operatorDisputeSchema.array() }) },
  },
  getAnyDispute: {
    summary: 'Get a dispute of any account',
    description: 'With the evidence that was given, and by whom. Needs an operator’s key.',
    params: disputeParams,
    response: { 200: response('The dispute.', { dispute: operatorDisputeSchema }) },
    errors: { 404: NOT_FOUND },
  },
  giveEvidenceFor: {
    summary: 'Give evidence in a dispute of an account',
    description: 'As the account holder can, also while the account is suspended. Needs an operator’s key.',
    params: disputeParams,
    body: evidenceBody,
    response: { 202: response('The dispute, with the file.', { dispute: operatorDisputeSchema }) },
    errors: { ...EVIDENCE_ERRORS, 404: NOT_FOUND },
  },
})
