import type { Answer } from './answer.ts'

// The API Pix errors of this bank, in Portuguese as at a real one.
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
