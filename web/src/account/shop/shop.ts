import { useGet } from '../../base/queries.ts'
import type { Shop } from '../../contract/types.ts'

/** How the account shows itself to payers. Undefined while it loads. */
export function useShop() {
  return useGet<{ shop: Shop }>(['shop'], '/shop', { staleTime: 60_000 })
}

/** What a person types into the form, as text. */
export type Typed = Record<Exclude<keyof Shop, 'version' | 'name' | 'logoUrl'>, string>

export function typedOf(shop: Shop): Typed {
  return {
    displayName: shop.displayName ?? '',
    color: shop.color ?? '',
    cnpj: shop.cnpj ?? '',
    supportEmail: shop.supportEmail ?? '',
    supportPhone: shop.supportPhone ?? '',
    supportUrl: shop.supportUrl ?? '',
    defaultDescription: shop.defaultDescription ?? '',
    defaultExpiresIn: shop.defaultExpiresIn === null ? '' : String(shop.defaultExpiresIn),
    language: shop.language,
    returnOrigins: shop.returnOrigins.join('\n'),
  }
}

export function bodyOf({ language, defaultExpiresIn, returnOrigins, ...texts }: Typed, version: number): object {
  const trimmed = Object.entries(texts).map(([name, text]) => [name, text.trim() || null])
  return {
    ...Object.fromEntries(trimmed),
    version,
    language,
    defaultExpiresIn: defaultExpiresIn === '' ? null : Number(defaultExpiresIn),
    returnOrigins: returnOrigins.split(/\s+/).filter(Boolean),
  }
}
