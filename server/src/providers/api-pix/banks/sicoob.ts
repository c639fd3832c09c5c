import { DEFAULT_PAGE, STANDARD_ACCESS, type BankProfile } from './bank-profile.ts'

export const sicoob: BankProfile = {
  ...STANDARD_ACCESS,
  title: 'Sicoob',
  live: {
    url: 'https://api.sicoob.com.br/pix/api/v2',
    tokenUrl: 'https://auth.sicoob.com.br/auth/realms/cooperado/protocol/openid-connect/token',
    needsCertificate: true,
  },
  // It takes a fixed token in place of a login.
  test: { needsCertificate: false },
  auth: 'certificate',
  pageSize: DEFAULT_PAGE,
  headers: { client_id: '{clientId}' },
  signsCertificates: false,
  source: 'public clients',
}
