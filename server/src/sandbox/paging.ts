import { parseInstant, problem, violation, type Answer, type ProblemName, type Violation } from './answer.ts'

export type ListQuery = {
  inicio: string
  fim: string
  fromMs: number
  untilMs: number
  page: number
  pageSize: number
  filters: Map<string, string>
}

const PAGE_SIZE_DEFAULT = 100
const PAGE_SIZE_MAX = 1000
const PAGE_MAX = 2 ** 31 - 1

type FilterRules = Record<string, RegExp>

export function parseListQuery(query: string, rules: FilterRules, refusal: ProblemName): ListQuery | Answer {
  const given = new URLSearchParams(query)
  const violations: Violation[] = []
  const instant = (name: string) => {
    const date = parseInstant(given.get(name))
    if (!date) violations.push(violation(name, 'É obrigatório e deve respeitar a RFC 3339.', given.get(name)))
    return date?.getTime() ?? 0
  }
  const fromMs = instant('inicio')
  const untilMs = instant('fim')
  if (violations.length === 0 && untilMs < fromMs)
    violations.push(violation('fim', 'É anterior a inicio.', given.get('fim')))

  const count = (name: string, bounds: { min: number; max: number; otherwise: number }) => {
    const text = given.get(name)
    if (text === null) return bounds.otherwise
    const value = /^\d{1,10}$/.test(text) ? Number(text) : -1
    if (value >= bounds.min && value <= bounds.max) return value
    violations.push(violation(name, `Deve ser um inteiro de ${bounds.min} a ${bounds.max}.`, text))
    return bounds.otherwise
  }
  const page = count('paginacao.paginaAtual', { min: 0, max: PAGE_MAX, otherwise: 0 })
  const pageSize = count('paginacao.itensPorPagina', { min: 1, max: PAGE_SIZE_MAX, otherwise: PAGE_SIZE_DEFAULT })

  const filters = new Map<string, string>()
  for (const [name, rule] of Object.entries(rules)) {
    const text = given.get(name)
    if (text === null) continue
    if (rule.test(text)) filters.set(name, text)
    else violations.push(violation(name, 'Valor inválido.', text))
  }
  if (filters.has('cpf') && filters.has('cnpj')) violations.push(violation('cpf', 'Não pode acompanhar cnpj.'))
  if (violations.length > 0) return problem(refusal, 'Os parâmetros da consulta são inválidos.', violations)
  const { inicio, fim } = { inicio: given.get('inicio') ?? '', fim: given.get('fim') ?? '' }
  return { inicio, fim, fromMs, untilMs, page, pageSize, filters }
}

export function pageOf<T>(query: ListQuery, found: T[]): { items: T[]; parametros: Record<string, unknown> } {
  const start = query.page * query.pageSize
  const filters: Record<string, string | boolean> = {}
  for (const [name, text] of query.filters) filters[name] = /^(true|false)$/.test(text) ? text === 'true' : text
  return {
    items: found.slice(start, start + query.pageSize),
    parametros: {
      inicio: query.inicio,
      fim: query.fim,
      ...filters,
      paginacao: {
        paginaAtual: query.page,
        itensPorPagina: query.pageSize,
        quantidadeDePaginas: Math.max(1, Math.ceil(found.length / query.pageSize)),
        quantidadeTotalDeItens: found.length,
      },
    },
  }
}
