import { z } from 'zod'
import { MAX_CENTS } from '../base/money.ts'

// Handlers are synchronous. The HTTP server sends the answer when everything up to `seq` is on disk.
export type Answer = {
  status: number
  body?: unknown
  contentType?: string
  headers?: Record<string, string>
  // An answer must not show what a power cut could undo.
  seq?: number
}

export type Call = {
  params: string[]
  query: string
  body: unknown
  authorization: string | undefined
  // It came over TLS, with a certificate that the bank signed.
  isCertified: boolean
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const RFC_3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

export function parseInstant(value: unknown): Date | undefined {
  if (typeof value !== 'string' || !RFC_3339.test(value)) return undefined
  const date = new Date(value)
  return Number.isNaN(date.getTime()) ? undefined : date
}

// The first twelve may be letters since 2026.
export const CNPJ = /^[0-9A-Z]{12}\d{2}$/

// Fields of the bodies that /bank takes.
export const bankTxid = z.string().regex(/^[a-zA-Z0-9]{1,35}$/)
export const bankPayer = z.string().regex(/^(\d{11}|[0-9A-Z]{12}\d{2})$/, 'Give a CPF or CNPJ without punctuation')
export const bankAmount = z.int().min(1).max(MAX_CENTS)
export const bankTime = z.iso.datetime({ offset: true }).transform((text) => new Date(text))

// Returns what is wrong as a text.
export function readBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> | string {
  const { data, error } = schema.safeParse(body)
  const [issue] = error?.issues ?? []
  if (!issue) return data as z.infer<Schema>
  return issue.path.length === 0 ? issue.message : `Field ${issue.path.join('.')}: ${issue.message}`
}

export const refusal = (status: number, error: string): Answer => ({ status, body: { error } })

// The errors of API Pix, in Portuguese as at a real bank.
const PROBLEMS = {
  RequisicaoInvalida: [400, 'Requisição inválida.'],
  NaoAutorizado: [401, 'Não autorizado.'],
  AcessoNegado: [403, 'Acesso negado.'],
  NaoEncontrado: [404, 'Não encontrado.'],
  MetodoNaoPermitido: [405, 'Método não permitido.'],
  CorpoMuitoGrande: [413, 'Corpo da requisição muito grande.'],
  ErroInternoDoServidor: [500, 'Erro interno do servidor.'],
  ServicoIndisponivel: [503, 'Serviço indisponível.'],
  IndisponibilidadePorTempoEsgotado: [504, 'Tempo esgotado.'],
  CobNaoEncontrado: [404, 'Cobrança não encontrada.'],
  CobOperacaoInvalida: [400, 'Cobrança inválida.'],
  CobConsultaInvalida: [400, 'Consulta de cobranças inválida.'],
  PixNaoEncontrado: [404, 'Pix não encontrado.'],
  PixConsultaInvalida: [400, 'Consulta de Pix inválida.'],
  PixDevolucaoNaoEncontrada: [404, 'Devolução não encontrada.'],
  PixDevolucaoInvalida: [400, 'Devolução inválida.'],
  WebhookNaoEncontrado: [404, 'Webhook não encontrado.'],
  WebhookOperacaoInvalida: [400, 'Webhook inválido.'],
} as const

export type ProblemName = keyof typeof PROBLEMS

export type Violation = { razao: string; propriedade: string; valor?: string }

export function problem(name: ProblemName, detail: string, violacoes: Violation[] = []): Answer {
  const [status, title] = PROBLEMS[name]
  const type = `https://pix.bcb.gov.br/api/v2/error/${name}`
  return {
    status,
    contentType: 'application/problem+json',
    body: { type, title, status, detail, ...(violacoes.length === 0 ? {} : { violacoes }) },
  }
}

export function violation(propriedade: string, razao: string, value?: unknown): Violation {
  return typeof value === 'string' ? { razao, propriedade, valor: value.slice(0, 200) } : { razao, propriedade }
}
