import { useMutation } from '@tanstack/react-query'
import { useBlocker } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError, del, put, upload } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import type { Pair } from '../../base/pair.ts'
import { queryClient } from '../../base/queries.ts'
import type { Shop } from '../../contract/types.ts'
import { Button } from '../../ui/button.tsx'
import { FormError, Input, Select, TextArea, useFields, whenSubmitted } from '../../ui/form/form.tsx'
import { Card } from '../../ui/page.tsx'
import { toast } from '../../ui/toast.tsx'
import { useExpiryChoices } from '../deposits/expiries.ts'
import { LogoField, type LogoChoice } from './logo-field.tsx'
import { bodyOf, typedOf, type Typed } from './shop.ts'
import { ShopPreview } from './shop-preview.tsx'

const useTexts = translations({
  brand: ['Marca', 'Brand'],
  displayName: ['Nome para os pagadores', 'Name for payers'],
  displayNameHint: ['Sem ele, aparece o nome da conta.', 'Without it, payers see the name of the account.'],
  color: ['Cor', 'Color'],
  colorHint: [
    'De botões e links. Clareamos ou escurecemos a cor até que o texto fique legível.',
    'Of buttons and links. We lighten or darken it until text is readable.',
  ],
  noColor: ['Cor padrão', 'Default color'],
  cnpj: ['CNPJ', 'CNPJ'],
  contact: ['Contato', 'Contact'],
  contactText: ['Para dúvidas de quem paga.', 'For questions of payers.'],
  supportEmail: ['E-mail', 'Email'],
  supportPhone: ['Telefone', 'Phone'],
  supportUrl: ['Link ou WhatsApp', 'Link or WhatsApp'],
  supportUrlHint: ['Por exemplo https://wa.me/5511999998888', 'For example https://wa.me/5511999998888'],
  deposits: ['Novos depósitos', 'New deposits'],
  depositsText: [
    'O formulário de novo depósito começa assim. A API usa o que o seu programa envia.',
    'The form of a new deposit begins like this. The API takes what your program sends.',
  ],
  defaultDescription: ['Descrição padrão', 'Default description'],
  defaultExpiresIn: ['Validade padrão', 'Default expiry'],
  ofService: (duration: string) => [`Do serviço (${duration})`, `That of the service (${duration})`],
  language: ['Idioma das mensagens aos pagadores', 'Language of messages to payers'],
  returns: ['Voltar para a loja', 'Back to the shop'],
  returnsText: [
    'Depois do pagamento, a página pode levar de volta ao endereço que o seu sistema informou (returnUrl). Só valem os endereços desta lista. Quem volta por esse link não provou que pagou: confirme pela API ou pelo webhook.',
    'After the payment, the page can lead back to the address that your system gave (returnUrl). Only addresses of this list count. Who comes back by this link has not proved a payment: confirm it by the API or the webhook.',
  ],
  returnOrigins: ['Endereços permitidos, um por linha', 'Allowed addresses, one per line'],
  returnOriginsHint: ['Por exemplo https://loja.com.br', 'For example https://shop.com'],
  save: ['Salvar', 'Save'],
  discard: ['Descartar alterações', 'Discard changes'],
  saved: ['Loja salva.', 'Shop saved.'],
  unsaved: ['Há alterações que não foram salvas.', 'There are unsaved changes.'],
  leave: ['Sair sem salvar as alterações da loja?', 'Leave without saving the changes to the shop?'],
})

/** The server names the field that it refuses. */
const useFieldErrors = translations<Record<keyof Typed, Pair>>({
  displayName: ['De 1 a 60 caracteres, sem caracteres invisíveis.', '1 to 60 characters, without invisible ones.'],
  color: ['Escolha uma cor.', 'Choose a color.'],
  cnpj: ['Confira o CNPJ: os dígitos verificadores não batem.', 'Check the CNPJ: its check digits do not match.'],
  supportEmail: ['Informe um e-mail válido.', 'Enter a valid email address.'],
  supportPhone: ['Informe o telefone com DDD.', 'Enter the phone number with its area code.'],
  supportUrl: ['O link precisa começar com https://', 'The link must begin with https://'],
  defaultDescription: ['No máximo 140 caracteres.', 'At most 140 characters.'],
  defaultExpiresIn: ['Escolha outra validade.', 'Choose another expiry.'],
  language: ['Escolha um idioma.', 'Choose a language.'],
  returnOrigins: [
    'Um endereço por linha, como https://loja.com.br, sem caminho. No máximo 20.',
    'One address per line, such as https://shop.com, without a path. At most 20.',
  ],
})

const LANGUAGES: Record<Shop['language'], string> = { 'pt-BR': 'Português', en: 'English', es: 'Español' }
/** What the picker shows while no color is chosen: that of the pages. */
const DEFAULT_COLOR = '#08745a'

/** Nothing is kept before "Save": neither what is typed nor a logo that is chosen. */
export function ShopForm({ shop }: { shop: Shop }) {
  const t = useTexts()
  // What is typed belongs to the version that was loaded, also if a newer one arrives meanwhile.
  const [loaded, setLoaded] = useState(shop)
  const initial = typedOf(loaded)
  const { typed: all, field: fieldOf, set } = useFields<Typed & { logo: LogoChoice }>({ ...initial, logo: 'kept' })
  const { logo, ...typed } = all
  const isChanged = logo !== 'kept' || JSON.stringify(typed) !== JSON.stringify(initial)
  const start = (from: Shop, kept: LogoChoice = 'kept') => {
    setLoaded(from)
    set({ ...typedOf(from), logo: kept })
  }
  const keep = (saved: Shop, rest?: LogoChoice) => {
    queryClient.setQueryData(['shop'], { shop: saved })
    start(saved, rest)
  }
  const save = useMutation({
    mutationFn: async () => {
      const { shop: saved } = await put<{ shop: Shop }>('/shop', bodyOf(typed, loaded.version))
      // If the logo is refused, the rest is saved all the same.
      keep(saved, logo)
      keep(await sendLogo(saved, logo))
      toast.good(t.saved)
    },
  })
  useBlocker({ shouldBlockFn: () => !confirm(t.leave), enableBeforeUnload: isChanged, disabled: !isChanged })
  const wrong = wrongField(save.error)
  const errors = useFieldErrors()
  const field: FieldOf = (name) => ({ ...fieldOf(name), label: t[name], error: wrong === name && errors[name] })
  return (
    <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-[minmax(0,1fr)_24rem]">
      <form
        noValidate
        className="min-w-0 space-y-6"
        onSubmit={whenSubmitted(save, () => save.mutate())}
        onChange={() => !save.isPending && save.reset()}
      >
        <Card title={t.brand}>
          <div className="space-y-5">
            <Input {...field('displayName')} isOptional maxLength={60} hint={t.displayNameHint} />
            <LogoField shop={loaded} {...fieldOf('logo')} />
            <ColorField {...field('color')} />
            <Input {...field('cnpj')} isOptional maxLength={18} />
          </div>
        </Card>
        <OtherFields field={field} />
        {wrong === undefined && <FormError error={save.error} />}
        <div className="flex flex-wrap items-center gap-3">
          <Button type="submit" kind="primary" isBusy={save.isPending} disabled={!isChanged}>
            {t.save}
          </Button>
          {isChanged && <Unsaved onDiscard={() => start(loaded)} isBusy={save.isPending} />}
        </div>
      </form>
      <ShopPreview typed={typed} version={loaded.version} hasNewLogo={logo !== 'kept'} />
    </div>
  )
}

type TextField = { value: string; onChange: (value: string) => void; label: string; error: string | false }
type FieldOf = (name: keyof Typed) => TextField

/** A picker always has a color, so none has a button of its own. */
function ColorField({ value, ...field }: TextField) {
  const t = useTexts()
  return (
    <div className="flex flex-wrap items-end gap-x-3 gap-y-2">
      <Input {...field} value={value || DEFAULT_COLOR} type="color" hint={t.colorHint} className="w-24! p-1" />
      {value !== '' && (
        <Button size="small" kind="quiet" onClick={() => field.onChange('')}>
          {t.noColor}
        </Button>
      )}
    </div>
  )
}

function OtherFields({ field }: { field: FieldOf }) {
  const t = useTexts()
  const expiries = useExpiryChoices(t.ofService)
  return (
    <>
      <Card title={t.contact} text={t.contactText}>
        <div className="space-y-5">
          <Input {...field('supportEmail')} type="email" isOptional maxLength={254} />
          <Input {...field('supportPhone')} type="tel" isOptional maxLength={30} />
          <Input {...field('supportUrl')} type="url" isOptional maxLength={500} hint={t.supportUrlHint} />
        </div>
      </Card>
      <Card title={t.deposits} text={t.depositsText}>
        <div className="space-y-5">
          <Input {...field('defaultDescription')} isOptional maxLength={140} />
          <Select {...field('defaultExpiresIn')} choices={expiries} />
          <Select
            {...field('language')}
            choices={Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }))}
          />
        </div>
      </Card>
      <Card title={t.returns} text={t.returnsText}>
        <TextArea {...field('returnOrigins')} isOptional hint={t.returnOriginsHint} spellCheck={false} />
      </Card>
    </>
  )
}

function Unsaved({ onDiscard, isBusy }: { onDiscard: () => void; isBusy: boolean }) {
  const t = useTexts()
  return (
    <>
      <Button kind="quiet" disabled={isBusy} onClick={onDiscard}>
        {t.discard}
      </Button>
      <p role="status" className="text-sm text-soft">
        {t.unsaved}
      </p>
    </>
  )
}

async function sendLogo(shop: Shop, logo: LogoChoice): Promise<Shop> {
  const { version } = shop
  if (logo === 'kept' || (logo === 'none' && shop.logoUrl === null)) return shop
  const answer =
    logo === 'none'
      ? await del<{ shop: Shop }>('/shop/logo', { version })
      : await upload<{ shop: Shop }>('/shop/logo', logo.file, { version })
  return answer.shop
}

function wrongField(error: Error | null): string | undefined {
  if (!(error instanceof ApiError) || error.code !== 'field_invalid') return undefined
  return String(error.details['field']).split('/')[0]
}
