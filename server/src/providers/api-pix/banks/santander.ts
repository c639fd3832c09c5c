import { DEFAULT_PAGE, STANDARD_ACCESS, type BankProfile } from './bank-profile.ts'

export const santander: BankProfile = {
  ...STANDARD_ACCESS,
  title: 'Santander',
  live: {
    url: 'https://trust-pix.santander.com.br/api/v1',
    tokenUrl: 'https://trust-pix.santander.com.br/oauth/token',
    needsCertificate: true,
  },
  test: {
    url: 'https://trust-pix-h.santander.com.br/api/v1',
    tokenUrl: 'https://trust-pix-h.santander.com.br/oauth/token',
    needsCertificate: true,
  },
  auth: 'body',
  scope: '',
  tokenQuery: ['grant_type'],
  pageSize: DEFAULT_PAGE,
  signsCertificates: false,
  source: 'public clients; some of them log in by HTTP Basic',
}
