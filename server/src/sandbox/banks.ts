// What each bank demands, for `guiche sandbox --as`. It is written down apart from the profiles of the adapter, which
// it tests: a table that both used would agree with its own mistakes.

export type Demands = {
  title: string
  // API Pix lies below it.
  basePath: string
  tokenPath: string
  login: 'basic' | 'form' | 'certificate'
  // These come in the query of the token request; everything else comes in its form.
  tokenQuery: string[]
  needsScope: boolean
  headers: Record<string, 'client id' | 'new uuid'>
  optionalHeaders: string[]
  query: string[]
  webhookHeaders: Record<string, string>
}

const PLAIN = {
  login: 'basic',
  tokenPath: '/oauth/token',
  tokenQuery: [],
  needsScope: false,
  headers: {},
  optionalHeaders: [],
  query: [],
  webhookHeaders: {},
} satisfies Partial<Demands>

export const BANKS = {
  // It cannot show its own certificate to whom it notifies, unless it is told not to ask.
  efi: { ...PLAIN, title: 'Efí', basePath: '/v2', webhookHeaders: { 'x-skip-mtls-checking': 'true' } },
  inter: {
    ...PLAIN,
    title: 'Banco Inter',
    basePath: '/pix/v2',
    tokenPath: '/oauth/v2/token',
    login: 'form',
    needsScope: true,
    optionalHeaders: ['x-conta-corrente'],
  },
  itau: {
    ...PLAIN,
    title: 'Itaú',
    basePath: '/pix_recebimentos/v2',
    tokenPath: '/api/oauth/token',
    login: 'form',
    headers: { 'x-itau-apikey': 'client id', 'x-itau-correlationid': 'new uuid' },
    optionalHeaders: ['x-itau-flowid'],
  },
  bb: { ...PLAIN, title: 'Banco do Brasil', basePath: '/pix/v2', needsScope: true, query: ['gw-app-key'] },
  santander: { ...PLAIN, title: 'Santander', basePath: '/api/v1', login: 'form', tokenQuery: ['grant_type'] },
  sicoob: {
    ...PLAIN,
    title: 'Sicoob',
    basePath: '/pix/api/v2',
    tokenPath: '/auth/realms/cooperado/protocol/openid-connect/token',
    login: 'certificate',
    needsScope: true,
    headers: { client_id: 'client id' },
  },
  sicredi: {
    ...PLAIN,
    title: 'Sicredi',
    basePath: '/api/v2',
    needsScope: true,
    tokenQuery: ['grant_type', 'scope'],
  },
  bradesco: { ...PLAIN, title: 'Bradesco', basePath: '/v2' },
} satisfies Record<string, Demands>

export type Bank = keyof typeof BANKS

export const BANK_LIST = Object.keys(BANKS) as Bank[]
