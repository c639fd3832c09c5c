import { useId } from 'react'
import { translations } from '../../base/language.ts'
import type { Pair } from '../../base/pair.ts'
import { useRoleNames } from '../../base/roles.ts'
import { ROLES, type Role } from '../../contract/codes.ts'
import { RadioCard } from '../../ui/form/radio-card.tsx'

const useTexts = translations<{ legend: Pair; allows: Record<Role, Pair> }>({
  legend: ['Papel', 'Role'],
  allows: {
    owner: ['Faz tudo, e escolhe quem participa da conta.', 'Does everything, and chooses who is on the team.'],
    finance: [
      'Vê depósitos, saldo e extrato, e devolve depósitos.',
      'Sees deposits, balance and statement, and refunds deposits.',
    ],
    developer: [
      'Cria depósitos e cuida de chaves e webhooks. Não devolve.',
      'Creates deposits, and manages keys and webhooks. Cannot refund.',
    ],
    cashier: [
      'Cria depósitos e vê os de hoje. Não vê o saldo.',
      'Creates deposits and sees those of today. Does not see the balance.',
    ],
    viewer: ['Vê tudo e não muda nada.', 'Sees everything and changes nothing.'],
  },
})

/** Each role with what it allows. */
export function RoleChoice({ value, onChange }: { value: Role; onChange: (role: Role) => void }) {
  const t = useTexts()
  const names = useRoleNames()
  const name = useId()
  return (
    <fieldset className="space-y-2">
      <legend className="mb-1.5 font-medium">{t.legend}</legend>
      {ROLES.map((role) => (
        <RadioCard
          key={role}
          name={name}
          isChosen={role === value}
          onChoose={() => onChange(role)}
          title={names[role]}
          text={t.allows[role]}
        />
      ))}
    </fieldset>
  )
}
