import { z } from 'zod'
import { readCnpj } from '../../base/cnpj.ts'
import { invalidField } from '../../base/fault.ts'
import { isReadable, READABLE_RULE } from '../../base/readable-text.ts'
import {
  changeLogo,
  changeShop,
  LOGO,
  MAX_RETURN_ORIGINS,
  SHOP_LANGUAGES,
  type Brand,
  type Shop,
} from '../../domain/accounts/brands.ts'
import { actorOf, type Caller } from '../../domain/accounts/callers.ts'
import { readOrigin } from '../../domain/accounts/return-urls.ts'
import type { Context } from '../../domain/context.ts'
import { EXPIRES_SECONDS, OWN_FIELDS } from '../../domain/core/charge-facts.ts'
import { presentShop, shopSchema } from '../api/shop.ts'
import { readBytes } from '../server/body.ts'
import { BODY_ERROR, oneOf, response, text, withZod, type Api } from '../server/schemas.ts'

/** What owners change of the shop. */
export function shopSettingRoutes(api: Api, ctx: Context): void {
  // Whoever sits down at an open browser can neither take another name nor send payers elsewhere.
  const config = { scope: 'shop:write', fresh: true } as const
  const answer = ({ accountName }: Caller, brand: Brand) => ({
    success: true as const,
    shop: presentShop(ctx, accountName, brand),
  })

  api.put('/api/shop', { schema: changeRoute, config }, async ({ body, caller }) => {
    const { version, returnOrigins, ...rest } = body
    const shop: Shop = { ...rest, returnOrigins: originsOf(returnOrigins, ctx) }
    return answer(caller, await changeShop(ctx, actorOf(caller), { accountId: caller.accountId, version }, shop))
  })

  api.delete('/api/shop/logo', { schema: logoRoute, config }, async ({ query, caller }) => {
    const edition = { accountId: caller.accountId, version: query.version }
    return answer(caller, await changeLogo(ctx, actorOf(caller), edition, undefined))
  })

  // Its body is a file, so it has a scope of its own.
  void api.register(async (plain) => {
    readBytes(plain, { limitBytes: LOGO.maxBytes })
    withZod(plain).put('/api/shop/logo', { schema: logoRoute, config }, async ({ query, body, caller }) => {
      const edition = { accountId: caller.accountId, version: query.version }
      const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0)
      return answer(caller, await changeLogo(ctx, actorOf(caller), edition, bytes))
    })
  })
}

/** As browsers write them, each once. */
function originsOf(texts: string[], { settings }: Context): string[] {
  const origins = texts.map((text) => {
    const origin = readOrigin(text, settings.mode)
    if (origin === undefined)
      throw invalidField(
        'returnOrigins',
        `returnOrigins must be like https://shop.example.com, without a path: ${text}`,
      )
    return origin
  })
  return [...new Set(origins)]
}

// ---- Fields ----

const MAX_NAME_LENGTH = 60
const MAX_URL_LENGTH = 500
const MAX_EMAIL_LENGTH = 254
const MAX_ORIGIN_LENGTH = 300

/** A text that is kept as `read` writes it, and refused where that gives nothing. */
function readBy(read: (text: string) => string | undefined, error: string) {
  return z
    .string({ error })
    .transform((given, issues) => {
      const value = read(given)
      if (value !== undefined) return value
      issues.addIssue({ code: 'custom', message: error })
      return z.NEVER
    })
    .nullable()
}

function readColor(given: string): string | undefined {
  const color = given.toLowerCase()
  return /^#[0-9a-f]{6}$/.test(color) ? color : undefined
}

function readEmail(given: string): string | undefined {
  return given.length <= MAX_EMAIL_LENGTH && z.email().safeParse(given).success ? given : undefined
}

/** Without a country it is one of Brazil, with its area. */
function readPhone(given: string): string | undefined {
  const digits = given.replaceAll(/[\s().-]/g, '')
  const phone = /^[1-9]\d{9,10}$/.test(digits) ? `+55${digits}` : digits
  return /^\+\d{8,15}$/.test(phone) ? phone : undefined
}

/** Only of a page: a link with another scheme could be a script. */
function readLink(given: string): string | undefined {
  if (!isReadable(given) || /[\s\\]/.test(given) || !URL.canParse(given)) return undefined
  const { protocol, username, password, href } = new URL(given)
  const isPage = protocol === 'https:' && username === '' && password === ''
  return isPage && href.length <= MAX_URL_LENGTH ? href : undefined
}

const NAME_ERROR = `displayName must be 1 to ${MAX_NAME_LENGTH} characters, ${READABLE_RULE} and without spaces around it, or null`
const { maxLength: maxDescription } = OWN_FIELDS.description
const { min, max } = EXPIRES_SECONDS
const EXPIRES_ERROR = `defaultExpiresIn must be an integer from ${min} to ${max} (seconds), or null`
const ORIGINS_ERROR = `returnOrigins must be at most ${MAX_RETURN_ORIGINS} texts`

export const SHOP_FIELDS = {
  displayName: text({ min: 1, max: MAX_NAME_LENGTH }, NAME_ERROR)
    .refine((name) => name === name.trim(), { error: NAME_ERROR })
    .nullable(),
  color: readBy(readColor, 'color must be like #0a7d5f, or null'),
  cnpj: readBy(readCnpj, 'cnpj must be a CNPJ with the right check digits, or null'),
  supportEmail: readBy(readEmail, 'supportEmail must be an e-mail address, or null'),
  supportPhone: readBy(readPhone, 'supportPhone must be a phone number with its area, or null'),
  supportUrl: readBy(
    readLink,
    `supportUrl must begin with https://, with at most ${MAX_URL_LENGTH} characters, or null`,
  ),
  defaultDescription: text(
    { min: 1, max: maxDescription },
    `defaultDescription must be 1 to ${maxDescription} characters, ${READABLE_RULE}, or null`,
  ).nullable(),
  defaultExpiresIn: z
    .int({ error: EXPIRES_ERROR })
    .min(min, { error: EXPIRES_ERROR })
    .max(max, { error: EXPIRES_ERROR })
    .nullable(),
  language: oneOf('language', SHOP_LANGUAGES),
  returnOrigins: z
    .array(z.string({ error: ORIGINS_ERROR }).max(MAX_ORIGIN_LENGTH, { error: ORIGINS_ERROR }), {
      error: ORIGINS_ERROR,
    })
    .max(MAX_RETURN_ORIGINS, { error: ORIGINS_ERROR }),
}

const VERSION_ERROR = 'version must be that of the shop'

const shopAnswer = { 200: response('', { shop: shopSchema }) }

const changeRoute = {
  body: z.object(
    { version: z.int({ error: VERSION_ERROR }).min(0, { error: VERSION_ERROR }), ...SHOP_FIELDS },
    { error: BODY_ERROR },
  ),
  response: shopAnswer,
}

const logoRoute = {
  querystring: z.object({
    version: z
      .string({ error: VERSION_ERROR })
      .regex(/^\d{1,9}$/, { error: VERSION_ERROR })
      .transform(Number),
  }),
  response: shopAnswer,
}
