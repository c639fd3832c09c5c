import type { Answer, Call } from './answer.ts'
import { listPayments, pay, readFaults, readStats, setFaults } from './bank.ts'
import { createCharge, listCharges, readCharge, reviseCharge } from './charges.ts'
import { issueToken } from './oauth.ts'
import { importHistory, listPix, readPix } from './payments.ts'
import type { Psp } from './psp.ts'
import { readRefund, requestRefund, reverse } from './refunds.ts'
import { deleteWebhook, readWebhook, setWebhook } from './webhooks.ts'

// Only `pix` needs a token, and faults apply to it alone.
export type Side = 'pix' | 'token' | 'bank'

export type Route = {
  side: Side
  method: string
  segments: string[]
  operation: string
  handle: (psp: Psp, call: Call) => Answer
}

export const ROUTES: Route[] = [
  route('token', 'POST /oauth/token', issueToken),
  route('pix', 'PUT /cob/:txid', createCharge),
  route('pix', 'GET /cob/:txid', readCharge),
  route('pix', 'PATCH /cob/:txid', reviseCharge),
  route('pix', 'GET /cob', listCharges),
  route('pix', 'GET /pix', listPix),
  route('pix', 'GET /pix/:e2eid', readPix),
  route('pix', 'PUT /pix/:e2eid/devolucao/:id', requestRefund),
  route('pix', 'GET /pix/:e2eid/devolucao/:id', readRefund),
  route('pix', 'PUT /webhook/:chave', setWebhook),
  route('pix', 'GET /webhook/:chave', readWebhook),
  route('pix', 'DELETE /webhook/:chave', deleteWebhook),
  route('bank', 'POST /bank/pay', pay),
  route('bank', 'POST /bank/reversal', reverse),
  route('bank', 'POST /bank/history', importHistory),
  route('bank', 'GET /bank/payments', listPayments),
  route('bank', 'GET /bank/stats', readStats),
  route('bank', 'GET /bank/faults', readFaults),
  route('bank', 'PUT /bank/faults', setFaults),
]

export type Match = { route: Route; params: string[] } | { allow: string[] }

// `allow` is empty for an unknown path.
export function matchRoute(method: string, path: string): Match {
  const segments = path.split('/').slice(1)
  const allow: string[] = []
  for (const candidate of ROUTES) {
    const params = matchSegments(candidate.segments, segments)
    if (!params) continue
    if (candidate.method === method) return { route: candidate, params }
    allow.push(candidate.method)
  }
  return { allow }
}

function matchSegments(pattern: string[], segments: string[]): string[] | undefined {
  if (pattern.length !== segments.length) return undefined
  const params: string[] = []
  for (const [index, wanted] of pattern.entries()) {
    const given = segments[index] ?? ''
    if (!wanted.startsWith(':')) {
      if (wanted !== given) return undefined
      continue
    }
    const param = decodeSegment(given)
    if (param === undefined || param === '') return undefined
    params.push(param)
  }
  return params
}

function decodeSegment(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

function route(side: Side, operation: string, handle: Route['handle']): Route {
  const [method = '', path = ''] = operation.split(' ')
  return { side, method, segments: path.split('/').slice(1), operation, handle }
}
