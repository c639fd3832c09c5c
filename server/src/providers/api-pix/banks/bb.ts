import { DEFAULT_PAGE, STANDARD_ACCESS, type BankProfile } from './bank-profile.ts'

export const bb: BankProfile = {
  ...STANDARD_ACCESS,
  title: 'Banco do Brasil',
  live: {
    url: 'https://api-pix.bb.com.br/pix/v2',
    tokenUrl: 'https://oauth.bb.com.br/oauth/token',
    needsCertificate: true,
    asksQuery: 'gw-app-key',
  },
  test: {
    url: 'https://api.hm.bb.com.br/pix/v2',
    tokenUrl: 'https://oauth.hm.bb.com.br/oauth/token',
    needsCertificate: false,
    asksQuery: 'gw-dev-app-key',
  },
  pageSize: DEFAULT_PAGE,
  signsCertificates: false,
  source: 'public clients; some of them send gw-dev-app-key also to the live address',
}
