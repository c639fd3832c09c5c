import { MAX_CENTS, centsFromDecimal } from '../base/money.ts'
import { isRecord, violation, type Violation } from './answer.ts'
import type { Cob } from './book.ts'

// Fields that API Pix does not know are ignored.
export type ChargeFields = {
  expiracao?: number
  valor?: Cob['valor']
  chave?: string
  devedor?: Record<string, string>
  solicitacaoPagador?: string
  infoAdicionais?: { nome: string; valor: string }[]
}

const AMOUNT = /^\d{1,10}\.\d{2}$/
const EXPIRY_DEFAULT_SECONDS = 86_400
const EXPIRY_MAX_SECONDS = 2 ** 31 - 1
const NOTES_MAX = 50

// Lengths are counted in code points, as JSON Schema does.
export const isText = (value: unknown, max: number, min = 0): value is string =>
  typeof value === 'string' && value.length <= max * 2 && Array.from(value).length <= max && value.length >= min

export function isAmount(value: unknown): value is string {
  return typeof value === 'string' && AMOUNT.test(value) && isPositive(centsFromDecimal(value))
}

export function readChargeFields(body: unknown, mode: 'create' | 'revise'): ChargeFields | Violation[] {
  if (!isRecord(body)) return [violation('cob', 'O corpo deve ser um objeto JSON.')]
  const violations: Violation[] = []
  if (mode === 'create') {
    for (const name of ['calendario', 'valor', 'chave']) {
      if (body[name] === undefined) violations.push(violation(`cob.${name}`, 'É obrigatório.'))
    }
  }
  const fields: ChargeFields = {
    ...readCalendar(body['calendario'], mode, violations),
    ...readValue(body['valor'], violations),
    ...readDebtor(body['devedor'], violations),
    ...readNotes(body['infoAdicionais'], violations),
  }
  const { chave, solicitacaoPagador } = body
  if (isText(chave, 77, 1)) fields.chave = chave
  else if (chave !== undefined) violations.push(violation('cob.chave', 'Deve ter de 1 a 77 caracteres.', chave))
  if (isText(solicitacaoPagador, 140)) fields.solicitacaoPagador = solicitacaoPagador
  else if (solicitacaoPagador !== undefined) {
    violations.push(violation('cob.solicitacaoPagador', 'Deve ter até 140 caracteres.', solicitacaoPagador))
  }
  if (body['loc'] !== undefined) violations.push(violation('cob.loc.id', 'A location referida não existe.'))
  return violations.length > 0 ? violations : fields
}

const isPositive = (cents: number): boolean => cents > 0 && cents <= MAX_CENTS

function readCalendar(value: unknown, mode: 'create' | 'revise', violations: Violation[]): ChargeFields {
  if (value === undefined) return {}
  if (!isRecord(value)) return refuse(violations, 'cob.calendario', 'Deve ser um objeto.')
  const expiracao = value['expiracao'] ?? (mode === 'create' ? EXPIRY_DEFAULT_SECONDS : undefined)
  if (expiracao === undefined) return {}
  if (Number.isInteger(expiracao) && Number(expiracao) > 0 && Number(expiracao) <= EXPIRY_MAX_SECONDS) {
    return { expiracao: Number(expiracao) }
  }
  return refuse(violations, 'cob.calendario.expiracao', 'Deve ser um inteiro maior que zero.', expiracao)
}

function readValue(value: unknown, violations: Violation[]): ChargeFields {
  if (value === undefined) return {}
  if (!isRecord(value)) return refuse(violations, 'cob.valor', 'Deve ser um objeto.')
  const { original, modalidadeAlteracao, retirada } = value
  if (retirada !== undefined) violations.push(violation('cob.valor.retirada', 'Saque e troco não são oferecidos.'))
  if (modalidadeAlteracao !== undefined && modalidadeAlteracao !== 0 && modalidadeAlteracao !== 1)
    return refuse(violations, 'cob.valor.modalidadeAlteracao', 'Deve ser 0 ou 1.')
  if (isAmount(original)) {
    return { valor: { original, ...(modalidadeAlteracao === undefined ? {} : { modalidadeAlteracao }) } }
  }
  return refuse(violations, 'cob.valor.original', 'Deve ter a forma 0.00 e ser maior que zero.', original)
}

function readDebtor(value: unknown, violations: Violation[]): ChargeFields {
  if (value === undefined) return {}
  if (isRecord(value) && isText(value['nome'], 200, 1)) {
    const { cpf, cnpj, nome } = value
    if (cnpj === undefined && typeof cpf === 'string' && /^\d{11}$/.test(cpf)) return { devedor: { cpf, nome } }
    if (cpf === undefined && typeof cnpj === 'string' && /^[0-9A-Z]{14}$/.test(cnpj)) return { devedor: { cnpj, nome } }
  }
  return refuse(violations, 'cob.devedor', 'Deve ter nome e ou cpf ou cnpj.')
}

function readNotes(value: unknown, violations: Violation[]): ChargeFields {
  if (value === undefined) return {}
  const notes = Array.isArray(value) && value.length <= NOTES_MAX ? value.map(readNote) : [undefined]
  const infoAdicionais = notes.filter((note) => note !== undefined)
  if (infoAdicionais.length === notes.length) return { infoAdicionais }
  const rule = `Deve ter até ${NOTES_MAX} pares de nome (até 50) e valor (até 200).`
  return refuse(violations, 'cob.infoAdicionais', rule)
}

function readNote(note: unknown): { nome: string; valor: string } | undefined {
  if (!isRecord(note)) return undefined
  const { nome, valor } = note
  return isText(nome, 50) && isText(valor, 200) ? { nome, valor } : undefined
}

function refuse(violations: Violation[], ...wrong: Parameters<typeof violation>): ChargeFields {
  violations.push(violation(...wrong))
  return {}
}
