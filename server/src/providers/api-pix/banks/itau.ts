import { DEFAULT_PAGE, STANDARD_ACCESS, type BankProfile } from './bank-profile.ts'

/** Its certificate is renewed yearly, in a window of 60 days. */
export const itau: BankProfile = {
  ...STANDARD_ACCESS,
  title: 'Itaú',
  live: {
    url: 'https://secure.api.itau/pix_recebimentos/v2',
    tokenUrl: 'https://sts.itau.com.br/api/oauth/token',
    needsCertificate: true,
  },
  // Public clients name several places, and another way to a token.
  test: { needsCertificate: false },
  auth: 'body',
  scope: '',
  pageSize: DEFAULT_PAGE,
  headers: { 'x-itau-apikey': '{clientId}', 'x-itau-correlationID': '{uuid}' },
  signsCertificates: true,
  source: 'public clients; one of them calls another host',
}
