import { z } from 'zod'
import { readBrand, SHOP_LANGUAGES, type Brand } from '../../domain/accounts/brands.ts'
import type { Context } from '../../domain/context.ts'
import { describeOperations, response, type Api } from '../server/schemas.ts'

/** How the account shows itself to payers. Owners change it in the dashboard: see http/dashboard/shop.ts. */
export function shopRoutes(app: Api, ctx: Context): void {
  const reading = { scope: 'deposits:read', orScope: 'deposits:today' } as const
  app.get('/api/shop', { schema: routes.getShop, config: reading }, async ({ caller }) => {
    const brand = await readBrand(ctx, caller.accountId)
    return { success: true as const, shop: presentShop(ctx, caller.accountName, brand) }
  })
}

const optional = (description: string) => z.string().nullable().meta({ description })

export const shopSchema = z
  .object({
    version: z.int().meta({ description: 'Counts changes, from 0.' }),
    name: z.string().meta({ description: 'What payers read: `displayName`, or the name of the account.' }),
    logoUrl: optional('The logo, or null.'),
    displayName: optional('The name for payers, if it is not that of the account.'),
    color: optional('Of buttons and links, as `#rrggbb`. Pages make it darker or lighter until it can be read.'),
    cnpj: optional('The company’s number, without punctuation.'),
    supportEmail: optional('Where payers ask.'),
    supportPhone: optional('With country and area, as `+5511999998888`.'),
    supportUrl: optional('A page or a WhatsApp link.'),
    defaultDescription: optional('What the dashboard’s form of a new deposit begins with.'),
    defaultExpiresIn: z
      .int()
      .nullable()
      .meta({ description: 'In seconds; what that form begins with. The API uses it for nothing.' }),
    language: z.enum(SHOP_LANGUAGES).meta({ description: 'Of messages to payers.' }),
    returnOrigins: z.string().array().meta({ description: 'Origins that a `returnUrl` may have.' }),
  })
  .meta({
    id: 'Shop',
    examples: [
      {
        version: 3,
        name: 'Loja Aurora',
        logoUrl: null,
        displayName: 'Loja Aurora',
        color: '#c2185b',
        cnpj: '11222333000181',
        supportEmail: 'help@shop.example.com',
        supportPhone: null,
        supportUrl: null,
        defaultDescription: null,
        defaultExpiresIn: null,
        language: 'pt-BR',
        returnOrigins: ['https://shop.example.com'],
      },
    ],
  })

export function presentShop(
  { settings }: Pick<Context, 'settings'>,
  accountName: string,
  { logo, ...brand }: Brand,
): z.output<typeof shopSchema> {
  return {
    ...brand,
    name: brand.displayName ?? accountName,
    logoUrl: logo === null ? null : `${settings.publicUrl}/brand/${logo}`,
  }
}

const routes = describeOperations('Deposits', {
  getShop: {
    summary: 'Get the shop',
    description:
      'How your account shows itself to payers, and to which origins a `returnUrl` may lead. An owner changes it in the dashboard, under My shop. Needs the scope `deposits:read`.',
    response: { 200: response('The shop.', { shop: shopSchema }) },
  },
})
