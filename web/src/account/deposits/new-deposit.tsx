import { useState } from 'react'
import { ApiError, newIdempotencyKey, post } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { parseMoney } from '../../base/money.ts'
import { refresh } from '../../base/queries.ts'
import type { NewCharge, Shop } from '../../contract/types.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { Dialog } from '../../ui/form/dialog.tsx'
import { Checkbox, Input, Select, useCheck, useFields } from '../../ui/form/form.tsx'
import { FormDialog } from '../../ui/form/form-dialog.tsx'
import { useShop } from '../shop/shop.ts'
import { useDepositErrorText } from './deposit-errors.ts'
import { useExpiryChoices } from './expiries.ts'
import { PaymentCode } from './payment-code.tsx'

const useTexts = translations({
  title: ['Novo depósito', 'New deposit'],
  text: [
    'O pagador recebe um QR code e um código Pix com este valor.',
    'The payer gets a QR code and a Pix code for this amount.',
  ],
  value: ['Valor', 'Amount'],
  valueHint: ['Em reais, por exemplo 150,00', 'In reais, for example 150.00'],
  understood: (money: string) => [`O depósito será de ${money}`, `The deposit will be for ${money}`],
  valueWrong: ['Informe um valor como 150,00', 'Enter an amount such as 150.00'],
  description: ['Descrição', 'Description'],
  descriptionHint: ['O pagador vê este texto.', 'Shown to the payer.'],
  externalId: ['Sua referência', 'Your reference'],
  externalIdHint: ['Por exemplo, o número do pedido no seu sistema.', 'For example, the order number in your system.'],
  payer: ['CPF ou CNPJ de quem vai pagar', 'CPF or CNPJ of the payer'],
  payerHint: [
    'Depois do pagamento, o guiche diz se foi essa pessoa que pagou.',
    'After the payment, guiche says whether this person paid.',
  ],
  payerWrong: [
    'Confira o CPF ou CNPJ: os dígitos verificadores não batem.',
    'Check the CPF or CNPJ: its check digits do not match.',
  ],
  onlyPayer: ['Aceitar só desta pessoa', 'Accept from this person only'],
  onlyPayerHint: ['O dinheiro de outra pessoa volta para quem pagou.', 'Money of anybody else goes back to the payer.'],
  expiry: ['Validade', 'Expires after'],
  byDefault: (duration: string) => [`Padrão (${duration})`, `Default (${duration})`],
  create: ['Criar depósito', 'Create deposit'],
  made: (money: string) => [`Depósito de ${money} criado`, `Deposit of ${money} created`],
  madeText: [
    'Envie o link ou o código ao pagador. O saldo só muda depois do pagamento.',
    'Send the link or the code to the payer. Your balance changes once it is paid.',
  ],
  see: ['Ver depósito', 'View deposit'],
  another: ['Criar outro', 'Create another'],
})

export function NewDepositDialog({ onClose }: { onClose: () => void }) {
  const t = useTexts()
  const { money } = useFormat()
  const [made, setMade] = useState<NewCharge>()
  const shop = useShop()
  // The form begins with what the shop says. Without an answer it begins empty, and at once.
  if (shop.isLoading && shop.failureCount === 0) return null
  if (!made) return <NewDepositForm onClose={onClose} onMade={setMade} shop={shop.data?.shop} />
  return (
    <Dialog
      onClose={onClose}
      title={t.made(money(made.value))}
      text={t.madeText}
      footer={
        <>
          <Button kind="quiet" onClick={() => setMade(undefined)}>
            {t.another}
          </Button>
          <ButtonLink to={`/deposits/${made.paymentLinkId}`}>{t.see}</ButtonLink>
        </>
      }
    >
      <PaymentCode deposit={made} />
    </Dialog>
  )
}

type FormProps = { onClose: () => void; onMade: (made: NewCharge) => void; shop: Shop | undefined }

function NewDepositForm({ onClose, onMade, shop }: FormProps) {
  const t = useTexts()
  const { language, money } = useFormat()
  const errorText = useDepositErrorText()
  const [idempotencyKey, setKey] = useState(newIdempotencyKey)
  const expiries = useExpiryChoices(t.byDefault)
  const byShop = String(shop?.defaultExpiresIn ?? '')
  const empty = {
    value: '',
    description: shop?.defaultDescription ?? '',
    externalId: '',
    payer: '',
    // The operator may have lowered the limit since.
    expiresIn: expiries.some(({ value }) => value === byShop) ? byShop : '',
  }
  const { typed, field } = useFields(empty, () => setKey(newIdempotencyKey()))
  const [isRequired, setRequired] = useState(false)
  // What is asked for is another request with it.
  const changeRequired = (isChecked: boolean) => {
    setRequired(isChecked)
    setKey(newIdempotencyKey())
  }
  const cents = parseMoney(typed.value) ?? 0
  const { isWrong, onCheck } = useCheck(cents > 0)
  const create = async () => {
    const { charge } = await post<{ charge: NewCharge }>('/deposit', bodyOf({ ...typed, isRequired }, cents), {
      idempotencyKey,
    })
    void refresh(['list', '/deposits'], ['overview'])
    onMade(charge)
  }
  return (
    <FormDialog
      title={t.title}
      text={t.text}
      action={t.create}
      onCheck={onCheck}
      onSend={create}
      onClose={onClose}
      errorText={(error) =>
        error instanceof ApiError && error.details.field === 'payer' ? t.payerWrong : errorText(error)
      }
      hidesOldError
    >
      <Input
        {...field('value')}
        label={t.value}
        inputMode="decimal"
        placeholder={language === 'pt-BR' ? 'R$ 0,00' : 'R$ 0.00'}
        className="figures text-xl font-semibold"
        hint={cents > 0 ? t.understood(money(cents)) : t.valueHint}
        error={isWrong && t.valueWrong}
      />
      <Input {...field('description')} label={t.description} isOptional maxLength={140} hint={t.descriptionHint} />
      <Input {...field('externalId')} label={t.externalId} isOptional maxLength={64} hint={t.externalIdHint} />
      <Select {...field('expiresIn')} label={t.expiry} choices={expiries} />
      <Input {...field('payer')} label={t.payer} isOptional maxLength={20} hint={t.payerHint} />
      {typed.payer.trim() !== '' && (
        <Checkbox value={isRequired} onChange={changeRequired} label={t.onlyPayer} hint={t.onlyPayerHint} />
      )}
    </FormDialog>
  )
}

type Typed = Record<'description' | 'externalId' | 'expiresIn' | 'payer', string> & { isRequired: boolean }

function bodyOf(typed: Typed, value: number): object {
  const [description, externalId, taxId] = [typed.description.trim(), typed.externalId.trim(), typed.payer.trim()]
  return {
    value,
    ...(description && { description }),
    ...(externalId && { externalId }),
    ...(taxId && { payer: { taxId, policy: typed.isRequired ? 'require' : 'verify' } }),
    ...(typed.expiresIn && { expiresIn: Number(typed.expiresIn) }),
  }
}
