import { DEFAULT_PAGE, STANDARD_ACCESS, type BankProfile } from './bank-profile.ts'

/** Where several accounts share a login, HEADERS names one: x-conta-corrente=<account>. */
export const inter: BankProfile = {
  ...STANDARD_ACCESS,
  title: 'Banco Inter',
  live: {
    url: 'https://cdpj.partners.bancointer.com.br/pix/v2',
    tokenUrl: 'https://cdpj.partners.bancointer.com.br/oauth/v2/token',
    needsCertificate: true,
  },
  test: {
    url: 'https://cdpj-sandbox.partners.uatinter.co/pix/v2',
    tokenUrl: 'https://cdpj-sandbox.partners.uatinter.co/oauth/v2/token',
    needsCertificate: true,
  },
  auth: 'body',
  pageSize: DEFAULT_PAGE,
  signsCertificates: true,
  source: 'public clients',
}
