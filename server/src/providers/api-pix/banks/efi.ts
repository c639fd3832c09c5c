import { DEFAULT_PAGE, STANDARD_ACCESS, type BankProfile } from './bank-profile.ts'

export const efi: BankProfile = {
  ...STANDARD_ACCESS,
  title: 'Efí',
  live: {
    url: 'https://pix.api.efipay.com.br/v2',
    tokenUrl: 'https://pix.api.efipay.com.br/oauth/token',
    needsCertificate: true,
  },
  test: {
    url: 'https://pix-h.api.efipay.com.br/v2',
    tokenUrl: 'https://pix-h.api.efipay.com.br/oauth/token',
    needsCertificate: true,
  },
  tokenSeconds: 3_600,
  pageSize: DEFAULT_PAGE,
  // By default it notifies only servers that ask for its client certificate.
  webhookHeaders: { 'x-skip-mtls-checking': 'true' },
  signsCertificates: true,
  source: 'public clients',
}
