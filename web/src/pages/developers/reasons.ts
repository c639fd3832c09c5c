import { useLanguage } from '../../base/language.ts'

// Why a delivery failed or an endpoint was disabled: the server says it in English, in its own words. The usual ones in Portuguese; the rest as they are.

const IN_PORTUGUESE: readonly (readonly [RegExp, string])[] = [
  [/^the connection was refused$/, 'a conexão foi recusada'],
  [/^the address does not answer$/, 'o endereço não responde'],
  [/^the address cannot be reached$/, 'o endereço está inacessível'],
  [/^the connection was closed before the answer$/, 'a conexão foi fechada antes da resposta'],
  [/^the connection broke in the middle of the answer$/, 'a conexão caiu no meio da resposta'],
  [/^the answer is not HTTP$/, 'a resposta não é HTTP'],
  [/^the answer never ends$/, 'a resposta não termina'],
  [/^no answer within (.+)$/, 'sem resposta em $1'],
  [/^no complete answer within (.+)$/, 'sem resposta completa em $1'],
  [/^no connection within (.+)$/, 'sem conexão em $1'],
  [/^the TLS handshake failed \((.+)\)$/, 'a negociação TLS falhou ($1)'],
  [/^the TLS certificate is not valid: it has expired$/, 'o certificado TLS está vencido'],
  [/^the TLS certificate is not valid: it is self-signed$/, 'o certificado TLS é autoassinado'],
  [/^the TLS certificate is not valid: it is made out to another name$/, 'o certificado TLS é de outro nome'],
  [/^the TLS certificate is not valid: its issuer is not known.*$/, 'o emissor do certificado TLS é desconhecido'],
  [/^the name does not resolve.*$/, 'o nome não existe no DNS'],
  [/^the address (\S+) is not allowed: .*$/, 'o endereço $1 não é público, e por isso não é permitido'],
  [/^the delivery failed \((.+)\)$/, 'a entrega falhou ($1)'],
  [/^the receiver answered 410 Gone$/, 'o destino respondeu 410 (Gone)'],
  [/^every delivery failed for 5 days$/, 'todas as entregas falharam durante 5 dias'],
  [/^disabled by the account holder$/, 'desativado por você'],
  [/^made by guiche seed as an example: .*$/, 'feito como exemplo por guiche seed: ninguém escuta ali'],
  [/^disabled by the operator$/, 'desativado pela operação'],
]

export function useReason(): (reason: string) => string {
  const language = useLanguage()
  return (reason) => {
    if (language === 'en') return reason
    const known = IN_PORTUGUESE.find(([shape]) => shape.test(reason))
    return known ? reason.replace(...known) : reason
  }
}
