import { LIST_MARGIN_MS, ProviderError, type PayerRequest, type Provider } from '../../domain/ports/provider.ts'
import { startDeadline } from '../http/call.ts'
import { readOrThrow, type Adapter } from '../http/provider.ts'
import { isEndToEndId, readListed, type Listed } from './messages.ts'

// A Pix of API Pix does not say who paid it. Its list has a filter by the payer's number, and shows the Pix or not.

// Well-known examples. Whoever paid has at most one of them.
const OTHER_NUMBERS = ['11144477735', '52998224725']

export function makeCheckPayer(adapter: Adapter): NonNullable<Provider['checkPayer']> {
  let isFilterKnown = false

  return async (request) => {
    const { endToEndId, payer } = request
    if (!isEndToEndId(endToEndId)) return 'unknown'
    const filter = payer.kind === 'CPF' ? { cpf: payer.number } : { cnpj: payer.number }
    const found = await ask(adapter, request, filter)
    if (found.isListed) {
      isFilterKnown ||= found.isFiltered || !(await showsOthers(adapter, request))
      if (isFilterKnown) return 'matched'
      throw new ProviderError('unknown', `${adapter.name}: checkPayer: the list ignores the number of the payer`)
    }
    // A list that lags does not show it to anybody. Only one that shows it, and then not under this number, says that
    // another person paid.
    const plain = await ask(adapter, request, {})
    if (!found.isWhole || !plain.isListed) return 'unknown'
    const again = await ask(adapter, request, filter)
    if (again.isListed) return 'matched'
    return again.isWhole ? 'mismatched' : 'unknown'
  }
}

/** Whether a list by the number of somebody else shows the Pix too. */
async function showsOthers(adapter: Adapter, request: PayerRequest): Promise<boolean> {
  const cpf = OTHER_NUMBERS.find((number) => number !== request.payer.number)!
  return (await ask(adapter, request, { cpf })).isListed
}

function ask(
  adapter: Adapter,
  { txid, endToEndId, occurredAt }: PayerRequest,
  filter: Record<string, string>,
): Promise<Listed> {
  const { name: provider, timings } = adapter
  const at = (ms: number) => new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z')
  const query = new URLSearchParams({
    inicio: at(occurredAt.getTime() - LIST_MARGIN_MS),
    fim: at(occurredAt.getTime() + LIST_MARGIN_MS),
    txid,
    ...filter,
    'paginacao.paginaAtual': '0',
    'paginacao.itensPorPagina': String(timings.pageSize),
  })
  const call = {
    method: 'GET' as const,
    path: `/pix?${query.toString()}`,
    read: (json: unknown) => readListed(json, { endToEndId, provider, filter }),
    // A provider may quote the number in an error.
    secrets: Object.values(filter),
  }
  return readOrThrow(adapter, call, { operation: 'checkPayer', deadline: startDeadline(timings.listDeadlineMs) })
}
