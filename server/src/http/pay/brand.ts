import { BrCodeError, decodeBrCode } from '../../base/brcode.ts'
import { formatCnpj } from '../../base/cnpj.ts'
import { accentsOf } from '../../base/contrast.ts'
import { html, type Html } from '../../base/html.ts'
import type { Brand } from '../../domain/accounts/brands.ts'
import type { Charge } from '../../domain/deposits/charge-reads.ts'
import type { Texts } from './texts.ts'

// The account holder's own look on pages for payers: name, logo, colour, and whom to ask.

export const LOGO_PATH = '/brand/'

export function payeeName({ displayName }: Brand, { accountName }: Pick<Charge, 'accountName'>): string {
  return displayName ?? accountName
}

// White behind it, because many logos are dark on nothing.
const LOGO_STYLE =
  '.logo{height:3.5rem;margin:0 0 1rem;text-align:center}.logo img{max-width:12rem;height:100%;padding:0.3rem;' +
  'border-radius:0.6rem;background:#fff;object-fit:contain}'

/** Made of two readable colours, and nothing that anybody wrote. */
export function brandStyle({ color, logo }: Brand): string {
  const logoStyle = logo === null ? '' : LOGO_STYLE
  const accents = color === null ? undefined : accentsOf(color)
  if (!accents) return logoStyle
  const { light, dark } = accents
  return `${logoStyle}${rule(light)}@media screen and (prefers-color-scheme:dark){${rule(dark)}}`
}

function rule({ accent, onAccent }: { accent: string; onAccent: string }): string {
  return `:root{--accent:${accent};--on-accent:${onAccent}}`
}

/** The name stands beside it as text. */
export function logoImage({ logo }: Brand): Html | null {
  return logo === null ? null : html`<p class="logo"><img src="${LOGO_PATH}${logo}" alt="" /></p>`
}

export function cnpjText({ cnpj }: Brand): string | null {
  return cnpj === null ? null : `CNPJ ${formatCnpj(cnpj)}`
}

/** Null if the account says nothing about whom to ask. */
export function contactLine({ supportEmail, supportPhone, supportUrl }: Brand, texts: Texts): Html | null {
  const links = [
    supportEmail === null ? [] : link(`mailto:${supportEmail}`, supportEmail),
    supportPhone === null ? [] : link(`tel:${supportPhone}`, supportPhone),
    supportUrl === null ? [] : link(supportUrl, hostOf(supportUrl).replace(/^wa\.me$/, 'WhatsApp')),
  ].flat()
  return links.length === 0 ? null : html`<p class="contact">${texts.contact} ${links}</p>`
}

function hostOf(url: string): string {
  return url.replace('https://', '').split('/', 1)[0]!
}

function link(url: string, shown: string): Html {
  return html`<a href="${url}" rel="noopener noreferrer"><bdi>${shown}</bdi></a> `
}

/** The receiver as the banking app names it, for comparison. Null if the code does not tell. */
export function receiverName(emv: string): string | null {
  try {
    return decodeBrCode(emv).merchantName
  } catch (error) {
    if (error instanceof BrCodeError) return null
    throw error
  }
}
