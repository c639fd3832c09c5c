import { Link } from '@tanstack/react-router'
import { translations } from '../base/language.ts'
import { useGet } from '../base/queries.ts'
import type { ExceptionState } from '../contract/codes.ts'
import type { Account, ProviderHealth } from '../contract/types.ts'
import { Badge } from '../ui/badge.tsx'

export const useLabels = translations({
  kind: {
    wrong_amount: ['Valor divergente', 'Wrong amount'],
    second_payment: ['Pago em duplicidade', 'Paid twice'],
    unknown_charge: ['Cobrança desconhecida', 'Unknown charge'],
    wrong_provider: ['Outro provedor', 'Wrong provider'],
    refunded_payment: ['Já devolvido', 'Already refunded'],
    unnamed_payment: ['Pago sem Pix identificado', 'Paid without a Pix'],
    foreign_refund: ['Devolução externa', 'External refund'],
    undone_refund: ['Devolução revertida', 'Reversed refund'],
    code_closed: ['Código encerrado', 'Closed code'],
    code_limits: ['Fora dos limites do código', 'Outside the limits of its code'],
    payer_unconfirmed: ['Pagador a confirmar', 'Payer to be confirmed'],
  },
  kindText: {
    wrong_amount: [
      'O pagador enviou um valor diferente do valor da cobrança.',
      'The payer sent a different amount than the charge.',
    ],
    second_payment: [
      'Chegou mais um Pix para uma cobrança, ou um pedido, que já estava pago.',
      'Another Pix arrived for a charge, or an order, that was already paid.',
    ],
    unknown_charge: ['O Pix não corresponde a nenhuma cobrança.', 'The Pix does not match any charge.'],
    wrong_provider: [
      'O Pix chegou por um provedor que não é o da cobrança.',
      'The Pix arrived at a different provider than the one of the charge.',
    ],
    refunded_payment: [
      'Quando o provedor informou o Pix, já o havia devolvido, no todo ou em parte.',
      'When the provider reported the Pix, it had already refunded it, in full or in part.',
    ],
    unnamed_payment: [
      'O provedor considera a cobrança paga, mas não informa nenhum Pix. Pergunte a ele.',
      'The provider considers the charge paid but reports no Pix. Ask the provider.',
    ],
    foreign_refund: [
      'O provedor devolveu dinheiro ao pagador sem pedido do guiche.',
      'The provider refunded the payer without a request from guiche.',
    ],
    undone_refund: [
      'O provedor confirmou a devolução e depois informou que ela não foi feita. O dinheiro voltou.',
      'The provider confirmed the refund and later reported that it was not made. The money is back.',
    ],
    code_closed: ['O Pix traz um código que a conta encerrou.', 'The Pix carries a code that the account closed.'],
    code_limits: [
      'O valor está fora dos limites do código ou da conta, ou não passa da tarifa.',
      'The amount is outside the limits of the code or of the account, or not above the fee.',
    ],
    payer_unconfirmed: [
      'A cobrança só aceita uma pessoa. O guiche pergunta ao provedor quem pagou e resolve por si; decida só se ele não responder.',
      'The charge accepts one person only. guiche asks the provider who paid and resolves it by itself; decide only if the provider cannot say.',
    ],
  },
  state: {
    open: ['Pendente', 'Open'],
    resolving: ['Devolução em andamento', 'Refund in progress'],
    resolved: ['Resolvida', 'Resolved'],
  },
  resolution: {
    match: ['Concluir a cobrança com este valor', 'Complete the charge with this amount'],
    credit: ['Creditar a uma conta', 'Credit an account'],
    refund: ['Devolver ao pagador', 'Refund the payer'],
    write_off: ['Dar baixa', 'Write off'],
    charge_account: ['Debitar da conta', 'Debit the account'],
  },
  breaker: {
    closed: ['Operando', 'Operational'],
    open: ['Em pausa após falhas', 'Paused after failures'],
    'half-open': ['Em recuperação', 'Recovering'],
  },
  actor: {
    operator: (name: string) => [name, name],
    account: (name: string) => [`${name} (titular da conta)`, `${name} (account holder)`],
    console: (name: string) => [`${name} (terminal)`, `${name} (terminal)`],
    system: (name: string) => [`${name} (automático)`, `${name} (automatic)`],
  },
  active: ['Ativa', 'Active'],
  suspended: ['Suspensa', 'Suspended'],
})

const STATE_TONES = { open: 'wait', resolving: 'mark', resolved: 'good' } as const
const BREAKER_TONES = { closed: 'good', open: 'bad', 'half-open': 'wait' } as const

export function StateBadge({ state }: { state: ExceptionState }) {
  return <Badge tone={STATE_TONES[state]}>{useLabels().state[state]}</Badge>
}

export function BreakerBadge({ breaker }: Pick<ProviderHealth, 'breaker'>) {
  return <Badge tone={BREAKER_TONES[breaker]}>{useLabels().breaker[breaker]}</Badge>
}

export function AccountBadge({ account }: { account: Pick<Account, 'suspendedAt'> }) {
  const t = useLabels()
  return account.suspendedAt === null ? <Badge tone="good">{t.active}</Badge> : <Badge tone="bad">{t.suspended}</Badge>
}

/** The server writes an actor as kind and name: "operator olga@example.com". */
export function useActorText(): (actor: string) => string {
  const kinds: Readonly<Record<string, (name: string) => string>> = useLabels().actor
  return (actor) => {
    const [kind = '', ...name] = actor.split(' ')
    return kinds[kind]?.(name.join(' ')) ?? actor
  }
}

/** Shows the name once it is loaded. */
export function AccountLink({ accountId }: { accountId: string }) {
  const { data } = useGet<{ account: Account }>(['account', accountId], `/operator/accounts/${accountId}`)
  return (
    <Link to="/operator/accounts/$accountId" params={{ accountId }} className="link">
      {data ? `${data.account.name} (${data.account.email})` : <code className="font-mono text-sm">{accountId}</code>}
    </Link>
  )
}
