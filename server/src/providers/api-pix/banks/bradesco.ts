import { DEFAULT_PAGE, STANDARD_ACCESS, type BankProfile } from './bank-profile.ts'

export const bradesco: BankProfile = {
  ...STANDARD_ACCESS,
  title: 'Bradesco',
  // Public clients name two paths for the token, and two hosts for tests.
  live: { url: 'https://qrpix.bradesco.com.br/v2', needsCertificate: true },
  test: { needsCertificate: true },
  scope: '',
  pageSize: DEFAULT_PAGE,
  signsCertificates: false,
  source: 'public clients',
}
