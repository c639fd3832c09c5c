import { ApiError } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import type { ReasonCode } from '../../contract/codes.ts'

// Why a delivery failed or a webhook was disabled, by the server's code.

type Texts = Record<ReasonCode, (detail: string) => string>

const useTexts = translations<Texts>({
  'pt-BR': {
    url_too_long: (detail: string) => `a URL tem mais de ${detail} caracteres`,
    url_characters: () => 'a URL contém espaços, caracteres invisíveis ou barras invertidas',
    url_without_host: () => 'a URL não começa com https:// e um domínio',
    url_invalid: () => 'a URL não é válida',
    url_password: () => 'a URL contém usuário ou senha',
    url_port: (detail) => `a porta ${detail} não é permitida`,
    url_notation: (detail) => `escreva a URL como ${detail}`,
    host_invalid: () => 'o domínio não é um nome válido',
    name_internal: (detail) => `o nome ${detail} é de uma rede interna`,
    http_not_allowed: () => 'http sem TLS não é permitido: use https',
    address_invalid: (detail) => `“${detail}” não é um endereço IP`,
    address_not_allowed: () => 'o endereço é privado e não é permitido',
    name_unresolved: () => 'o nome não existe no DNS',
    name_servers_silent: (detail) => `o DNS não respondeu por este nome (${detail})`,
    too_many_addresses: (detail) => `o nome tem mais de ${detail} endereços`,
    connection_refused: () => 'a conexão foi recusada',
    address_silent: () => 'o endereço não responde',
    address_unreachable: () => 'o endereço está inacessível',
    no_connection: (detail) => `sem conexão em ${detail}`,
    connection_unwanted: () => 'a conexão deixou de ser necessária',
    proxy_unreachable: (detail) => `o proxy de saída está inacessível (${detail})`,
    proxy_refused: (detail) => `o proxy de saída recusou a conexão (${detail})`,
    tls_name: () => 'o certificado TLS é de outro nome',
    tls_self_signed: () => 'o certificado TLS é autoassinado',
    tls_issuer_unknown: () => 'o emissor do certificado TLS é desconhecido, ou a cadeia está incompleta',
    tls_expired: () => 'o certificado TLS está vencido',
    tls_not_yet_valid: () => 'o certificado TLS ainda não é válido',
    tls_revoked: () => 'o certificado TLS foi revogado',
    tls_invalid: (detail) => `o certificado TLS não é válido (${detail})`,
    tls_failed: (detail) => `a negociação TLS falhou (${detail})`,
    closed_before_answer: () => 'a conexão foi fechada antes da resposta',
    broken_answer: () => 'a conexão caiu no meio da resposta',
    endless_answer: () => 'a resposta não termina',
    answer_not_http: () => 'a resposta não é HTTP',
    answer_headers_too_large: () => 'os cabeçalhos da resposta são grandes demais',
    answer_length_wrong: () => 'a resposta não tem o tamanho que declara',
    no_answer: (detail) => `sem resposta em ${detail}`,
    no_complete_answer: (detail) => `sem resposta completa em ${detail}`,
    request_invalid: () => 'a requisição não pode ser enviada: um cabeçalho não é válido',
    delivery_failed: (detail) => `a entrega falhou (${detail})`,
    too_many_connections: () => 'o servidor do guiche tem conexões abertas demais',
    queue_full: () => 'há entregas pendentes demais para este webhook',
    stopping: () => 'o serviço estava sendo reiniciado',
    secrets_unreadable: () => 'não foi possível ler os segredos do webhook: avise a equipe do guiche',
    receiver_gone: () => 'o webhook respondeu 410 (Gone)',
    failed_for_days: () => 'todas as entregas falharam durante 5 dias',
    disabled_by_account: () => 'desativado pelo titular da conta',
    disabled_by_operator: () => 'desativado pela equipe do guiche',
    deleted: () => 'excluído',
    seed_example: () => 'exemplo criado por guiche seed',
  },
  en: {
    url_too_long: (detail: string) => `the URL is longer than ${detail} characters`,
    url_characters: () => 'the URL contains spaces, invisible characters or backslashes',
    url_without_host: () => 'the URL does not start with https:// and a host',
    url_invalid: () => 'the URL is not valid',
    url_password: () => 'the URL contains a user name or password',
    url_port: (detail) => `port ${detail} is not allowed`,
    url_notation: (detail) => `write the URL as ${detail}`,
    host_invalid: () => 'the host is not a valid name',
    name_internal: (detail) => `the name ${detail} belongs to an internal network`,
    http_not_allowed: () => 'http without TLS is not allowed: use https',
    address_invalid: (detail) => `“${detail}” is not an IP address`,
    address_not_allowed: () => 'the address is private and not allowed',
    name_unresolved: () => 'the name does not exist in DNS',
    name_servers_silent: (detail) => `DNS did not respond for this name (${detail})`,
    too_many_addresses: (detail) => `the name has more than ${detail} addresses`,
    connection_refused: () => 'the connection was refused',
    address_silent: () => 'the address does not respond',
    address_unreachable: () => 'the address cannot be reached',
    no_connection: (detail) => `no connection within ${detail}`,
    connection_unwanted: () => 'the connection was no longer needed',
    proxy_unreachable: (detail) => `the egress proxy cannot be reached (${detail})`,
    proxy_refused: (detail) => `the egress proxy refused the connection (${detail})`,
    tls_name: () => 'the TLS certificate is for a different name',
    tls_self_signed: () => 'the TLS certificate is self-signed',
    tls_issuer_unknown: () => 'the issuer of the TLS certificate is unknown, or the chain is incomplete',
    tls_expired: () => 'the TLS certificate has expired',
    tls_not_yet_valid: () => 'the TLS certificate is not valid yet',
    tls_revoked: () => 'the TLS certificate was revoked',
    tls_invalid: (detail) => `the TLS certificate is not valid (${detail})`,
    tls_failed: (detail) => `the TLS handshake failed (${detail})`,
    closed_before_answer: () => 'the connection was closed before the response',
    broken_answer: () => 'the connection broke during the response',
    endless_answer: () => 'the response never ends',
    answer_not_http: () => 'the response is not HTTP',
    answer_headers_too_large: () => 'the response headers are too large',
    answer_length_wrong: () => 'the response does not match its content length',
    no_answer: (detail) => `no response within ${detail}`,
    no_complete_answer: (detail) => `no complete response within ${detail}`,
    request_invalid: () => 'the request cannot be sent: a header is not valid',
    delivery_failed: (detail) => `the delivery failed (${detail})`,
    too_many_connections: () => 'the guiche server has too many open connections',
    queue_full: () => 'too many pending deliveries for this webhook',
    stopping: () => 'the service was restarting',
    secrets_unreadable: () => 'the webhook’s secrets could not be read: contact the guiche team',
    receiver_gone: () => 'the webhook responded 410 (Gone)',
    failed_for_days: () => 'all deliveries failed for 5 days',
    disabled_by_account: () => 'disabled by the account holder',
    disabled_by_operator: () => 'disabled by the guiche team',
    deleted: () => 'deleted',
    seed_example: () => 'example created by guiche seed',
  },
})

/** Why the server refused a URL; undefined for any other error. */
export function useUrlErrorText(): (error: unknown) => string | undefined {
  const reasonText = useReasonText()
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

type Reason = { code: string | null; detail?: string | null; text: string | null }

/** In the reader's language. Unknown codes fall back to the server's text. */
export function useReasonText(): (reason: Reason) => string {
  const texts: Readonly<Record<string, (detail: string) => string>> = useTexts()
  return ({ code, detail, text }) => texts[code ?? '']?.(detail ?? '') ?? text ?? '—'
}
