import { ApiError } from '../../base/api.ts'
import type { ReasonCode } from '../../base/codes.ts'
import { words } from '../../base/language.ts'

// Why a delivery failed or an endpoint was disabled, by the server's code.

type Texts = Record<ReasonCode, (detail: string) => string>

const useTexts = words<Texts>({
  'pt-BR': {
    url_too_long: (detail: string) => `o endereço tem mais de ${detail} caracteres`,
    url_characters: () => 'o endereço contém espaços, caracteres invisíveis ou barras invertidas',
    url_without_host: () => 'o endereço não começa com https:// e um domínio',
    url_invalid: () => 'o endereço não é válido',
    url_password: () => 'o endereço contém usuário ou senha',
    url_port: (detail: string) => `a porta ${detail} é de outro serviço`,
    url_notation: (detail: string) => `escreva o endereço como ${detail}`,
    host_invalid: () => 'o domínio não é um nome válido',
    name_internal: (detail: string) => `o nome ${detail} é de uma rede interna`,
    http_not_allowed: () => 'http sem TLS não é permitido: use https',
    address_invalid: (detail: string) => `“${detail}” não é um endereço IP`,
    address_not_allowed: (detail: string) => `o endereço ${detail} não é público, e por isso não é permitido`,
    name_unresolved: () => 'o nome não existe no DNS',
    name_servers_silent: (detail: string) => `o DNS não respondeu por este nome (${detail})`,
    too_many_addresses: (detail: string) => `o nome tem mais de ${detail} endereços`,
    connection_refused: () => 'a conexão foi recusada',
    address_silent: () => 'o endereço não responde',
    address_unreachable: () => 'o endereço está inacessível',
    no_connection: (detail: string) => `sem conexão em ${detail}`,
    connection_unwanted: () => 'a conexão deixou de ser necessária',
    proxy_unreachable: (detail: string) => `o proxy de saída está inacessível (${detail})`,
    proxy_refused: (detail: string) => `o proxy de saída recusou a conexão (${detail})`,
    tls_name: () => 'o certificado TLS é de outro nome',
    tls_self_signed: () => 'o certificado TLS é autoassinado',
    tls_issuer_unknown: () => 'o emissor do certificado TLS é desconhecido, ou a cadeia está incompleta',
    tls_expired: () => 'o certificado TLS está vencido',
    tls_not_yet_valid: () => 'o certificado TLS ainda não é válido',
    tls_revoked: () => 'o certificado TLS foi revogado',
    tls_invalid: (detail: string) => `o certificado TLS não é válido (${detail})`,
    tls_failed: (detail: string) => `a negociação TLS falhou (${detail})`,
    closed_before_answer: () => 'a conexão foi fechada antes da resposta',
    broken_answer: () => 'a conexão caiu no meio da resposta',
    endless_answer: () => 'a resposta não termina',
    answer_not_http: () => 'a resposta não é HTTP',
    answer_headers_too_large: () => 'os cabeçalhos da resposta são grandes demais',
    answer_length_wrong: () => 'a resposta não tem o tamanho que declara',
    no_answer: (detail: string) => `sem resposta em ${detail}`,
    no_complete_answer: (detail: string) => `sem resposta completa em ${detail}`,
    request_invalid: () => 'o pedido não pode ser enviado: um cabeçalho não é válido',
    delivery_failed: (detail: string) => `a entrega falhou (${detail})`,
    too_many_connections: () => 'este servidor tem conexões abertas demais',
    queue_full: () => 'há entregas demais esperando por este destino',
    stopping: () => 'o serviço estava sendo reiniciado',
    secrets_unreadable: () => 'este serviço não consegue abrir os segredos do webhook: avise o operador',
    receiver_gone: () => 'o destino respondeu 410 (Gone)',
    failed_for_days: () => 'todas as entregas falharam durante 5 dias',
    disabled_by_account: () => 'desativado pelo titular da conta',
    disabled_by_operator: () => 'desativado pelo operador',
    deleted: () => 'excluído',
    seed_example: () => 'feito como exemplo por guiche seed: ninguém escuta ali',
  },
  en: {
    url_too_long: (detail: string) => `the address is longer than ${detail} characters`,
    url_characters: () => 'the address has spaces, invisible characters or backslashes',
    url_without_host: () => 'the address does not begin with https:// and a host',
    url_invalid: () => 'the address is not valid',
    url_password: () => 'the address has a user name or password',
    url_port: (detail: string) => `port ${detail} belongs to another service`,
    url_notation: (detail: string) => `write the address as ${detail}`,
    host_invalid: () => 'the host is not a valid name',
    name_internal: (detail: string) => `the name ${detail} belongs to an internal network`,
    http_not_allowed: () => 'http without TLS is not allowed: use https',
    address_invalid: (detail: string) => `“${detail}” is not an IP address`,
    address_not_allowed: (detail: string) => `the address ${detail} is not public, and so it is not allowed`,
    name_unresolved: () => 'the name does not exist in DNS',
    name_servers_silent: (detail: string) => `DNS did not answer for this name (${detail})`,
    too_many_addresses: (detail: string) => `the name has more than ${detail} addresses`,
    connection_refused: () => 'the connection was refused',
    address_silent: () => 'the address does not answer',
    address_unreachable: () => 'the address cannot be reached',
    no_connection: (detail: string) => `no connection within ${detail}`,
    connection_unwanted: () => 'the connection was no longer needed',
    proxy_unreachable: (detail: string) => `the egress proxy cannot be reached (${detail})`,
    proxy_refused: (detail: string) => `the egress proxy refused the connection (${detail})`,
    tls_name: () => 'the TLS certificate is for another name',
    tls_self_signed: () => 'the TLS certificate is self-signed',
    tls_issuer_unknown: () => 'the issuer of the TLS certificate is unknown, or the chain is incomplete',
    tls_expired: () => 'the TLS certificate has expired',
    tls_not_yet_valid: () => 'the TLS certificate is not valid yet',
    tls_revoked: () => 'the TLS certificate was revoked',
    tls_invalid: (detail: string) => `the TLS certificate is not valid (${detail})`,
    tls_failed: (detail: string) => `the TLS handshake failed (${detail})`,
    closed_before_answer: () => 'the connection was closed before the answer',
    broken_answer: () => 'the connection broke in the middle of the answer',
    endless_answer: () => 'the answer never ends',
    answer_not_http: () => 'the answer is not HTTP',
    answer_headers_too_large: () => 'the headers of the answer are too large',
    answer_length_wrong: () => 'the answer is not as long as it says',
    no_answer: (detail: string) => `no answer within ${detail}`,
    no_complete_answer: (detail: string) => `no complete answer within ${detail}`,
    request_invalid: () => 'the request cannot be sent: a header is not valid',
    delivery_failed: (detail: string) => `the delivery failed (${detail})`,
    too_many_connections: () => 'this server has too many open connections',
    queue_full: () => 'too many deliveries are waiting for this receiver',
    stopping: () => 'the service was restarting',
    secrets_unreadable: () => 'this service cannot open the webhook’s secrets: tell the operator',
    receiver_gone: () => 'the receiver answered 410 (Gone)',
    failed_for_days: () => 'every delivery failed for 5 days',
    disabled_by_account: () => 'disabled by the account holder',
    disabled_by_operator: () => 'disabled by the operator',
    deleted: () => 'deleted',
    seed_example: () => 'made by guiche seed as an example: nobody listens there',
  },
})

/** Of an address that the server refused; undefined for any other error. */
export function useUrlRefusal(): (error: unknown) => string | undefined {
  const reasonText = useReason()
  return (error) => {
    if (!(error instanceof ApiError) || error.code !== 'url_not_allowed') return undefined
    const { reason, detail = null } = error.details
    const text = reasonText({
      code: String(reason),
      detail: detail === null ? null : String(detail),
      text: error.message,
    })
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
  }
}

export type Reason = { code: string | null; detail?: string | null; text: string | null }

/** In the reader's language. What was written before there were codes, and a code of a newer server, in the server's own words. */
export function useReason(): (reason: Reason) => string {
  const texts = useTexts()
  return ({ code, detail, text }) =>
    code !== null && Object.hasOwn(texts, code) ? texts[code as ReasonCode](detail ?? '') : (text ?? '—')
}
