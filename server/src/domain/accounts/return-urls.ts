import { Fault, invalidField } from '../../base/fault.ts'
import { isLocalHost } from '../../base/local-url.ts'
import { isReadable } from '../../base/readable-text.ts'
import type { Core } from '../core/core.ts'
import { readBrand } from './brands.ts'

// Where the payment page leads back to. Payers trust the page, so it leads only to origins that an owner has listed: a
// stolen key could otherwise send them anywhere.

// As long as browsers and servers take them.
const MAX_URL_LENGTH = 2_048
const RULE = `returnUrl must be a URL that begins with https://, of at most ${MAX_URL_LENGTH} characters, without user name and spaces`

type Mode = Core['settings']['mode']

/** As browsers write it. Undefined if payers may not be sent there. */
export function readOrigin(text: string, mode: Mode): string | undefined {
  const url = readUrl(text, mode)
  return url?.pathname === '/' && url.search === '' && url.hash === '' ? url.origin : undefined
}

/** Why a charge cannot have this return URL. Undefined if it can, or has none. */
export async function returnUrlFault(
  core: Core,
  accountId: string,
  returnUrl: string | null | undefined,
): Promise<Fault | undefined> {
  if (!returnUrl) return undefined
  const url = readUrl(returnUrl, core.settings.mode)
  if (!url) return invalidField('returnUrl', RULE)
  const { returnOrigins } = await readBrand(core, accountId)
  if (returnOrigins.includes(url.origin)) return undefined
  return new Fault(
    'return_url_not_allowed',
    `returnUrl: the account’s list of return addresses lacks ${url.origin}; an owner adds it under My shop`,
    { details: { origin: url.origin } },
  )
}

/** Undefined if the origin is not on the list any more. What the link says proves nothing. */
export function returnLink(returnUrl: string, origins: readonly string[], paymentLinkId: string): string | undefined {
  if (!URL.canParse(returnUrl)) return undefined
  const url = new URL(returnUrl)
  if (!origins.includes(url.origin)) return undefined
  const added = `paymentLinkId=${paymentLinkId}&status=COMPLETED`
  // By hand: searchParams would write the whole query anew, and a signature over it would not fit.
  url.search = url.search === '' ? added : `${url.search}&${added}`
  return url.href
}

/** The parser drops some characters and turns others into slashes, so they are refused before. */
function readUrl(text: string, mode: Mode): URL | undefined {
  if (!isReadable(text) || /[\s\\]/.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isPlain = url.protocol === 'http:' && mode === 'test' && isLocalHost(url.hostname)
  if (url.protocol !== 'https:' && !isPlain) return undefined
  return url.username === '' && url.password === '' && url.href.length <= MAX_URL_LENGTH ? url : undefined
}
