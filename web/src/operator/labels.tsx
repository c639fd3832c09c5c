import { Link } from '@tanstack/react-router'
import { translations } from '../base/language.ts'
import { useGet } from '../base/queries.ts'
import type { ExceptionState } from '../contract/codes.ts'
import type { Account, ProviderHealth } from '../contract/types.ts'
import { Badge } from '../ui/badge.tsx'

// Labels that several operator pages share.

export const useLabels = translations({
  'pt-BR': {
    kind: {
      wrong_amount: 'Valor divergente',
      second_payment: 'Pago em duplicidade',
      unknown_charge: 'Cobrança desconhecida',
      wrong_provider: 'Outro provedor',
      refunded_payment: 'Já devolvido',
      unnamed_payment: 'Pago sem Pix identificado',
      foreign_refund: 'Devolução externa',
      undone_refund: 'Devolução revertida',
    },
    kindText: {
      wrong_amount: 'O pagador enviou um valor diferente do valor da cobrança.',
      second_payment: 'Chegou mais um Pix para uma cobrança já paga.',
      unknown_charge: 'O Pix não corresponde a nenhuma cobrança.',
      wrong_provider: 'O Pix chegou por um provedor que não é o da cobrança.',
      refunded_payment: 'Quando o provedor informou o Pix, já o havia devolvido, no todo ou em parte.',
      unnamed_payment: 'O provedor considera a cobrança paga, mas não informa nenhum Pix. Pergunte a ele.',
      foreign_refund: 'O provedor devolveu dinheiro ao pagador sem pedido do guiche.',
      undone_refund: 'O provedor confirmou a devolução e depois informou que ela não foi feita. O dinheiro voltou.',
    },
    state: { open: 'Pendente', resolving: 'Devolução em andamento', resolved: 'Resolvida' },
    resolution: {
      match: 'Concluir a cobrança com este valor',
      credit: 'Creditar a uma conta',
      refund: 'Devolver ao pagador',
      write_off: 'Dar baixa',
      charge_account: 'Debitar da conta',
    },
    breaker: { closed: 'Operando', open: 'Em pausa após falhas', 'half-open': 'Em recuperação' },
    actor: {
      operator: (name: string) => name,
      account: (name: string) => `${name} (titular da conta)`,
      console: (name: string) => `${name} (terminal)`,
      system: (name: string) => `${name} (automático)`,
    },
    active: 'Ativa',
    suspended: 'Suspensa',
  },
  en: {
    kind: {
      wrong_amount: 'Wrong amount',
      second_payment: 'Paid twice',
      unknown_charge: 'Unknown charge',
      wrong_provider: 'Wrong provider',
      refunded_payment: 'Already refunded',
      unnamed_payment: 'Paid without a Pix',
      foreign_refund: 'External refund',
      undone_refund: 'Reversed refund',
    },
    kindText: {
      wrong_amount: 'The payer sent a different amount than the charge.',
      second_payment: 'Another Pix arrived for a charge that was already paid.',
      unknown_charge: 'The Pix does not match any charge.',
      wrong_provider: 'The Pix arrived at a different provider than the one of the charge.',
      refunded_payment: 'When the provider reported the Pix, it had already refunded it, in full or in part.',
      unnamed_payment: 'The provider considers the charge paid but reports no Pix. Ask the provider.',
      foreign_refund: 'The provider refunded the payer without a request from guiche.',
      undone_refund: 'The provider confirmed the refund and later reported that it was not made. The money is back.',
    },
    state: { open: 'Open', resolving: 'Refund in progress', resolved: 'Resolved' },
    resolution: {
      match: 'Complete the charge with this amount',
      credit: 'Credit an account',
      refund: 'Refund the payer',
      write_off: 'Write off',
      charge_account: 'Debit the account',
    },
    breaker: { closed: 'Operational', open: 'Paused after failures', 'half-open': 'Recovering' },
    actor: {
      operator: (name: string) => name,
      account: (name: string) => `${name} (account holder)`,
      console: (name: string) => `${name} (terminal)`,
      system: (name: string) => `${name} (automatic)`,
    },
    active: 'Active',
    suspended: 'Suspended',
  },
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

/** By name once it is loaded. */
export function AccountLink({ accountId }: { accountId: string }) {
  const { data } = useGet<{ account: Account }>(['account', accountId], `/operator/accounts/${accountId}`)
  return (
    <Link to="/operator/accounts/$accountId" params={{ accountId }} className="link">
      {data ? `${data.account.name} (${data.account.email})` : <code className="font-mono text-sm">{accountId}</code>}
    </Link>
  )
}
