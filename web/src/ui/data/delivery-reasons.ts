import { ApiError } from '../../base/api.ts'
import { translations } from '../../base/language.ts'
import type { Pair } from '../../base/pair.ts'
import type { ReasonCode } from '../../contract/codes.ts'

// Why a delivery failed or a webhook was disabled, by the server's code.

const useTexts = translations({
  url_too_long: (detail) => [`a URL tem mais de ${detail} caracteres`, `the URL is longer than ${detail} characters`],
  url_characters: [
    'a URL contém espaços, caracteres invisíveis ou barras invertidas',
    'the URL contains spaces, invisible characters or backslashes',
  ],
  url_without_host: ['a URL não começa com https:// e um domínio', 'the URL does not start with https:// and a host'],
  url_invalid: ['a URL não é válida', 'the URL is not valid'],
  url_password: ['a URL contém usuário ou senha', 'the URL contains a user name or password'],
  url_port: (detail) => [`a porta ${detail} não é permitida`, `port ${detail} is not allowed`],
  url_notation: (detail) => [`escreva a URL como ${detail}`, `write the URL as ${detail}`],
  host_invalid: ['o domínio não é um nome válido', 'the host is not a valid name'],
  name_internal: (detail) => [
    `o nome ${detail} é de uma rede interna`,
    `the name ${detail} belongs to an internal network`,
  ],
  http_not_allowed: ['http sem TLS não é permitido: use https', 'http without TLS is not allowed: use https'],
  address_invalid: (detail) => [`“${detail}” não é um endereço IP`, `“${detail}” is not an IP address`],
  address_not_allowed: ['o endereço é privado e não é permitido', 'the address is private and not allowed'],
  name_unresolved: ['o nome não existe no DNS', 'the name does not exist in DNS'],
  name_servers_silent: (detail) => [
    `o DNS não respondeu por este nome (${detail})`,
    `DNS did not respond for this name (${detail})`,
  ],
  too_many_addresses: (detail) => [
    `o nome tem mais de ${detail} endereços`,
    `the name has more than ${detail} addresses`,
  ],
  connection_refused: ['a conexão foi recusada', 'the connection was refused'],
  address_silent: ['o endereço não responde', 'the address does not respond'],
  address_unreachable: ['o endereço está inacessível', 'the address cannot be reached'],
  no_connection: (detail) => [`sem conexão em ${detail}`, `no connection within ${detail}`],
  connection_unwanted: ['a conexão deixou de ser necessária', 'the connection was no longer needed'],
  proxy_unreachable: (detail) => [
    `o proxy de saída está inacessível (${detail})`,
    `the egress proxy cannot be reached (${detail})`,
  ],
  proxy_refused: (detail) => [
    `o proxy de saída recusou a conexão (${detail})`,
    `the egress proxy refused the connection (${detail})`,
  ],
  tls_name: ['o certificado TLS é de outro nome', 'the TLS certificate is for a different name'],
  tls_self_signed: ['o certificado TLS é autoassinado', 'the TLS certificate is self-signed'],
  tls_issuer_unknown: [
    'o emissor do certificado TLS é desconhecido, ou a cadeia está incompleta',
    'the issuer of the TLS certificate is unknown, or the chain is incomplete',
  ],
  tls_expired: ['o certificado TLS está vencido', 'the TLS certificate has expired'],
  tls_not_yet_valid: ['o certificado TLS ainda não é válido', 'the TLS certificate is not valid yet'],
  tls_revoked: ['o certificado TLS foi revogado', 'the TLS certificate was revoked'],
  tls_invalid: (detail) => [
    `o certificado TLS não é válido (${detail})`,
    `the TLS certificate is not valid (${detail})`,
  ],
  tls_failed: (detail) => [`a negociação TLS falhou (${detail})`, `the TLS handshake failed (${detail})`],
  closed_before_answer: ['a conexão foi fechada antes da resposta', 'the connection was closed before the response'],
  broken_answer: ['a conexão caiu no meio da resposta', 'the connection broke during the response'],
  endless_answer: ['a resposta não termina', 'the response never ends'],
  answer_not_http: ['a resposta não é HTTP', 'the response is not HTTP'],
  answer_headers_too_large: ['os cabeçalhos da resposta são grandes demais', 'the response headers are too large'],
  answer_length_wrong: ['a resposta não tem o tamanho que declara', 'the response does not match its content length'],
  no_answer: (detail) => [`sem resposta em ${detail}`, `no response within ${detail}`],
  no_complete_answer: (detail) => [`sem resposta completa em ${detail}`, `no complete response within ${detail}`],
  request_invalid: [
    'a requisição não pode ser enviada: um cabeçalho não é válido',
    'the request cannot be sent: a header is not valid',
  ],
  delivery_failed: (detail) => [`a entrega falhou (${detail})`, `the delivery failed (${detail})`],
  too_many_connections: [
    'o servidor do guiche tem conexões abertas demais',
    'the guiche server has too many open connections',
  ],
  queue_full: ['há entregas pendentes demais para este webhook', 'too many pending deliveries for this webhook'],
  stopping: ['o serviço estava sendo reiniciado', 'the service was restarting'],
  secrets_unreadable: [
    'não foi possível ler os segredos do webhook: avise a equipe do guiche',
    'the webhook’s secrets could not be read: contact the guiche team',
  ],
  receiver_gone: ['o webhook respondeu 410 (Gone)', 'the webhook responded 410 (Gone)'],
  failed_for_days: ['todas as entregas falharam durante 5 dias', 'all deliveries failed for 5 days'],
  disabled_by_account: ['desativado pelo titular da conta', 'disabled by the account holder'],
  disabled_by_operator: ['desativado pela equipe do guiche', 'disabled by the guiche team'],
  deleted: ['excluído', 'deleted'],
  seed_example: ['exemplo criado por guiche seed', 'example created by guiche seed'],
} satisfies Record<ReasonCode, Pair | ((detail: string) => Pair)>)

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
  const texts: Readonly<Record<string, string | ((detail: string) => string)>> = useTexts()
  return ({ code, detail, text }) => {
    const known = texts[code ?? '']
    return (typeof known === 'function' ? known(detail ?? '') : known) ?? text ?? '—'
  }
}
