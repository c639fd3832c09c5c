import { DEFAULT_PAGE, STANDARD_ACCESS, type BankProfile } from './bank-profile.ts'

export const sicredi: BankProfile = {
  ...STANDARD_ACCESS,
  title: 'Sicredi',
  live: {
    url: 'https://api-pix.sicredi.com.br/api/v2',
    tokenUrl: 'https://api-pix.sicredi.com.br/oauth/token',
    needsCertificate: true,
  },
  test: {
    url: 'https://api-pix-h.sicredi.com.br/api/v2',
    tokenUrl: 'https://api-pix-h.sicredi.com.br/oauth/token',
    needsCertificate: true,
  },
  tokenQuery: ['grant_type', 'scope'],
  pageSize: DEFAULT_PAGE,
  signsCertificates: true,
  source: 'public clients',
}
