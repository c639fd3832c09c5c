import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { get } from '../../base/api.ts'
import { words } from '../../base/language.ts'
import { Badge } from '../../ui/badge.tsx'
import type { Account, ExceptionState, Provider } from './shapes.ts'

// What several of these pages call by name.

export const useNames = words({
  'pt-BR': {
    kind: {
      wrong_amount: 'Valor divergente',
      second_payment: 'Pago em duplicidade',
      unknown_charge: 'Cobrança desconhecida',
      wrong_provider: 'Outra instituição',
      foreign_refund: 'Devolução não solicitada',
      undone_refund: 'Devolução desfeita',
    },
    kindText: {
      wrong_amount: 'O pagador enviou um valor diferente do valor da cobrança.',
      second_payment: 'A cobrança já estava paga, e chegou mais um Pix para ela.',
      unknown_charge: 'O Pix não corresponde a nenhuma cobrança nossa.',
      wrong_provider: 'O Pix chegou por uma instituição que não é a da cobrança.',
      foreign_refund: 'A instituição devolveu dinheiro ao pagador sem que o guiche tivesse pedido.',
      undone_refund:
        'A instituição havia confirmado a devolução e depois informou que ela não foi feita. O dinheiro voltou.',
    },
    state: { open: 'A decidir', resolving: 'Devolução em andamento', resolved: 'Resolvida' },
    way: {
      match: 'Concluir o depósito com este valor',
      credit: 'Creditar a uma conta',
      refund: 'Devolver ao pagador',
      write_off: 'Dar baixa',
      charge_account: 'Debitar da conta',
    },
    breaker: { closed: 'Operando', open: 'Em pausa após falhas', 'half-open': 'Voltando, em teste' },
    actor: {
      operator: (name: string) => name,
      account: (name: string) => `${name} (titular da conta)`,
      console: (name: string) => `${name} (no terminal)`,
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
      wrong_provider: 'Other provider',
      foreign_refund: 'Refund we did not ask for',
      undone_refund: 'Undone refund',
    },
    kindText: {
      wrong_amount: 'The payer sent another amount than the charge is for.',
      second_payment: 'The charge was paid already, and one more Pix arrived for it.',
      unknown_charge: 'The Pix belongs to no charge of ours.',
      wrong_provider: 'The Pix arrived at another provider than that of the charge.',
      foreign_refund: 'The provider gave money back to the payer although guiche did not ask for it.',
      undone_refund: 'The provider had confirmed the refund, and later said that it was not made. The money is back.',
    },
    state: { open: 'To decide', resolving: 'Refund in progress', resolved: 'Resolved' },
    way: {
      match: 'Complete the deposit with this amount',
      credit: 'Credit an account',
      refund: 'Refund the payer',
      write_off: 'Write off',
      charge_account: 'Charge the account',
    },
    breaker: { closed: 'Working', open: 'Paused after failures', 'half-open': 'Coming back, on trial' },
    actor: {
      operator: (name: string) => name,
      account: (name: string) => `${name} (account holder)`,
      console: (name: string) => `${name} (at the terminal)`,
      system: (name: string) => `${name} (automatic)`,
    },
    active: 'Active',
    suspended: 'Suspended',
  },
})

const STATE_TONES = { open: 'wait', resolving: 'mark', resolved: 'good' } as const
const BREAKER_TONES = { closed: 'good', open: 'bad', 'half-open': 'wait' } as const

export function StateBadge({ state }: { state: ExceptionState }) {
  return <Badge tone={STATE_TONES[state]}>{useNames().state[state]}</Badge>
}

export function BreakerBadge({ breaker }: Pick<Provider, 'breaker'>) {
  return <Badge tone={BREAKER_TONES[breaker]}>{useNames().breaker[breaker]}</Badge>
}

export function AccountBadge({ account }: { account: Pick<Account, 'suspendedAt'> }) {
  const t = useNames()
  return account.suspendedAt === null ? <Badge tone="good">{t.active}</Badge> : <Badge tone="bad">{t.suspended}</Badge>
}

/** Who, of "operator olga@example.com" and the like: kind and name, as the server writes them. */
export function useActorText(): (actor: string) => string {
  const { actor: kinds } = useNames()
  return (actor) => {
    const [kind = '', ...rest] = actor.split(' ')
    const name = rest.join(' ')
    return Object.hasOwn(kinds, kind) ? kinds[kind as keyof typeof kinds](name) : actor
  }
}

/** An account of which only the id is known: by its name as soon as that is there. */
export function AccountLink({ accountId }: { accountId: string }) {
  const { data } = useQuery({
    queryKey: ['account', accountId],
    queryFn: ({ signal }) => get<{ account: Account }>(`/operator/accounts/${accountId}`, {}, { signal }),
  })
  return (
    <Link to="/operator/accounts/$accountId" params={{ accountId }} className="link">
      {data ? `${data.account.name} (${data.account.email})` : <code className="font-mono text-sm">{accountId}</code>}
    </Link>
  )
}
