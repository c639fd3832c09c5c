import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState, type FormEvent } from 'react'
import { freshKey, isCanceled, post } from '../../base/api.ts'
import { useLanguage, words } from '../../base/language.ts'
import { moneyText, parseMoney } from '../../base/money.ts'
import { Button, buttonLook } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Input, Select } from '../../ui/field.tsx'
import { Notice } from '../../ui/notice.tsx'
import { PaymentCode } from './payment-code.tsx'
import { useRefusalText } from './refusals.ts'
import type { NewDeposit } from './shapes.ts'

const useWords = words({
  'pt-BR': {
    title: 'Novo depósito',
    text: 'O pagador recebe um QR code e um código Pix com este valor.',
    value: 'Valor',
    valueHint: 'Em reais, por exemplo 150,00',
    understood: (money: string) => `O depósito será de ${money}`,
    valueWrong: 'Informe um valor como 150,00',
    description: 'Descrição',
    descriptionHint: 'Aparece para o pagador.',
    externalId: 'Sua referência',
    externalIdHint: 'O número do pedido no seu sistema, por exemplo.',
    expiry: 'Validade',
    expiries: {
      '': 'Padrão do serviço',
      '300': '5 minutos',
      '900': '15 minutos',
      '1800': '30 minutos',
      '3600': '1 hora',
      '21600': '6 horas',
      '86400': '24 horas',
    },
    create: 'Criar depósito',
    back: 'Voltar',
    made: (money: string) => `Depósito de ${money} criado`,
    madeText: 'Envie o link ou o código ao pagador. O saldo só muda depois do pagamento.',
    see: 'Ver o depósito',
    another: 'Criar outro',
  },
  en: {
    title: 'New deposit',
    text: 'The payer gets a QR code and a Pix code for this amount.',
    value: 'Amount',
    valueHint: 'In reais, such as 150.00',
    understood: (money: string) => `The deposit will be ${money}`,
    valueWrong: 'Enter an amount such as 150.00',
    description: 'Description',
    descriptionHint: 'The payer sees it.',
    externalId: 'Your reference',
    externalIdHint: 'The order number in your system, for example.',
    expiry: 'Valid for',
    expiries: {
      '': 'The service’s default',
      '300': '5 minutes',
      '900': '15 minutes',
      '1800': '30 minutes',
      '3600': '1 hour',
      '21600': '6 hours',
      '86400': '24 hours',
    },
    create: 'Create deposit',
    back: 'Back',
    made: (money: string) => `Deposit of ${money} created`,
    madeText: 'Send the payer the link or the code. The balance changes once it is paid.',
    see: 'See the deposit',
    another: 'Create another one',
  },
})

export function NewDepositDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const t = useWords()
  const language = useLanguage()
  const [made, setMade] = useState<NewDeposit>()
  const close = () => {
    setMade(undefined)
    onClose()
  }
  if (made)
    return (
      <Dialog
        isOpen={isOpen}
        onClose={close}
        title={t.made(moneyText(made.value, language))}
        text={t.madeText}
        footer={
          <>
            <Button kind="quiet" onClick={() => setMade(undefined)}>
              {t.another}
            </Button>
            <Link
              to="/deposits/$paymentLinkId"
              params={{ paymentLinkId: made.paymentLinkId }}
              onClick={close}
              className={buttonLook({})}
            >
              {t.see}
            </Link>
          </>
        }
      >
        <PaymentCode deposit={made} />
      </Dialog>
    )
  return <Form isOpen={isOpen} onClose={close} onMade={setMade} />
}

const EMPTY = { value: '', description: '', externalId: '', expiresIn: '' }
const FORM = 'new-deposit'

function Form({
  isOpen,
  onClose,
  onMade,
}: {
  isOpen: boolean
  onClose: () => void
  onMade: (made: NewDeposit) => void
}) {
  const t = useWords()
  const language = useLanguage()
  const refusalText = useRefusalText()
  const queryClient = useQueryClient()
  const [typed, setTyped] = useState(EMPTY)
  const [isTried, setTried] = useState(false)
  const [idempotencyKey, setKey] = useState(freshKey)
  const cents = parseMoney(typed.value)
  const isValid = cents !== undefined && cents > 0
  const create = useMutation({
    mutationFn: (body: object) => post<{ charge: NewDeposit }>('/deposit', body, { idempotencyKey }),
    onSuccess: ({ charge }) => {
      restart()
      void queryClient.invalidateQueries({ queryKey: ['list', '/deposits'] })
      void queryClient.invalidateQueries({ queryKey: ['overview'] })
      onMade(charge)
    },
  })
  const change = (name: keyof typeof EMPTY) => (event: { target: { value: string } }) => {
    setTyped({ ...typed, [name]: event.target.value })
    setKey(freshKey())
    create.reset()
  }
  const restart = () => {
    setTyped(EMPTY)
    setTried(false)
    setKey(freshKey())
    create.reset()
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (!isValid || create.isPending) return
    create.mutate({
      value: cents,
      ...(typed.description.trim() && { description: typed.description.trim() }),
      ...(typed.externalId.trim() && { externalId: typed.externalId.trim() }),
      ...(typed.expiresIn && { expiresIn: Number(typed.expiresIn) }),
    })
  }
  const close = () => {
    if (create.isPending) return
    restart()
    onClose()
  }
  return (
    <Dialog
      isOpen={isOpen}
      onClose={close}
      title={t.title}
      text={t.text}
      footer={
        <>
          <Button onClick={close} disabled={create.isPending}>
            {t.back}
          </Button>
          <Button kind="primary" type="submit" form={FORM} isBusy={create.isPending}>
            {t.create}
          </Button>
        </>
      }
    >
      <form id={FORM} noValidate onSubmit={submit} className="space-y-5">
        <Input
          label={t.value}
          value={typed.value}
          onChange={change('value')}
          inputMode="decimal"
          autoComplete="off"
          placeholder={language === 'pt-BR' ? 'R$ 0,00' : 'R$ 0.00'}
          className="figures text-xl font-semibold"
          hint={isValid ? t.understood(moneyText(cents, language)) : t.valueHint}
          error={isTried && !isValid && t.valueWrong}
        />
        <Input
          label={t.description}
          isOptional
          value={typed.description}
          onChange={change('description')}
          maxLength={140}
          autoComplete="off"
          hint={t.descriptionHint}
        />
        <Input
          label={t.externalId}
          isOptional
          value={typed.externalId}
          onChange={change('externalId')}
          maxLength={64}
          autoComplete="off"
          hint={t.externalIdHint}
        />
        <Select
          label={t.expiry}
          value={typed.expiresIn}
          onChange={change('expiresIn')}
          choices={EXPIRIES.map((value) => ({ value, label: t.expiries[value] }))}
        />
        {create.error && !isCanceled(create.error) && <Notice tone="bad">{refusalText(create.error)}</Notice>}
      </form>
    </Dialog>
  )
}

// Seconds, within what the server takes. Listed, since an object would put numbers before the default.
const EXPIRIES = ['', '300', '900', '1800', '3600', '21600', '86400'] as const
