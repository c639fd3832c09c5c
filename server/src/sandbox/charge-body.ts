import { z } from 'zod'
import { MAX_CENTS, centsFromDecimal } from '../base/money.ts'
import { CNPJ, violation, type Violation } from './answer.ts'
import type { Cob } from './book.ts'

// Lengths are counted in code points, as JSON Schema does.
export const isText = (value: unknown, max: number, min = 0): value is string =>
  typeof value === 'string' && value.length <= max * 2 && Array.from(value).length <= max && value.length >= min

export function isAmount(value: unknown): value is string {
  if (typeof value !== 'string' || !/^\d{1,10}\.\d{2}$/.test(value)) return false
  const cents = centsFromDecimal(value)
  return cents > 0 && cents <= MAX_CENTS
}

const text = (max: number, min: number, rule: string) => z.custom<string>((value) => isText(value, max, min), rule)
const digits = (pattern: RegExp) => z.string().regex(pattern)

const OBJECT = 'Deve ser um objeto.'
const EXPIRY = 'Deve ser um inteiro maior que zero.'
const NOTES = 'Deve ter até 50 pares de nome (até 50) e valor (até 200).'
const nome = text(200, 1, OBJECT)

// What a client may set on a charge. Fields that API Pix does not know are ignored.
const creation = z.object(
  {
    calendario: z.object(
      {
        expiracao: z
          .int(EXPIRY)
          .positive(EXPIRY)
          .max(2 ** 31 - 1, EXPIRY)
          .optional(),
      },
      OBJECT,
    ),
    valor: z.object(
      {
        original: z.custom<string>(isAmount, 'Deve ter a forma 0.00 e ser maior que zero.'),
        modalidadeAlteracao: z.literal([0, 1], 'Deve ser 0 ou 1.').optional(),
        retirada: z.never('Saque e troco não são oferecidos.').optional(),
      },
      OBJECT,
    ),
    chave: text(77, 1, 'Deve ter de 1 a 77 caracteres.'),
    devedor: z
      .union(
        [
          z.object({ cpf: digits(/^\d{11}$/), cnpj: z.never().optional(), nome }),
          z.object({ cnpj: digits(CNPJ), cpf: z.never().optional(), nome }),
        ],
        'Deve ter nome e ou cpf ou cnpj.',
      )
      .optional(),
    solicitacaoPagador: text(140, 0, 'Deve ter até 140 caracteres.').optional(),
    infoAdicionais: z
      .array(z.object({ nome: text(50, 0, NOTES), valor: text(200, 0, NOTES) }), NOTES)
      .max(50, NOTES)
      .optional(),
    loc: z.object({ id: z.never('A location referida não existe.') }).optional(),
  },
  'O corpo deve ser um objeto JSON.',
)

const revision = creation.partial()

export type ChargeFields = { expiracao?: number } & Partial<
  Pick<Cob, 'valor' | 'chave' | 'devedor' | 'solicitacaoPagador' | 'infoAdicionais'>
>

export function readChargeFields(body: unknown, mode: 'create' | 'revise'): ChargeFields | Violation[] {
  const { data, error } = (mode === 'create' ? creation : revision).safeParse(body)
  if (!data) return error.issues.map((issue) => violationOf(body, issue))
  const { calendario, ...fields } = data
  const expiracao = calendario?.expiracao
  return { ...fields, ...(expiracao !== undefined && { expiracao }) } as ChargeFields
}

function violationOf(body: unknown, { path, message }: z.core.$ZodIssue): Violation {
  // A list is refused as a whole.
  const place = path.findIndex((part) => typeof part === 'number')
  const names = place === -1 ? path : path.slice(0, place)
  const value = names.reduce<unknown>((found, name) => (found as Record<PropertyKey, unknown> | null)?.[name], body)
  return violation(['cob', ...names].join('.'), value === undefined ? 'É obrigatório.' : message, value)
}
