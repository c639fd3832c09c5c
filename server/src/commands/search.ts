import type { Command } from 'commander'
import { formatReais } from '../base/money.ts'
import { apiAction, type Api } from './api.ts'
import { addCommand, AS_JSON } from './arguments.ts'
import { cut, moment } from './format.ts'
import { printList, withDatabase, type JsonOption, type Terminal } from './terminal.ts'

export function searchCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'search', 'pedido-1042', '"R$ 199,90"', 'E18236120202601311500s0a1b2c3d4e')
    .description('search accounts, deposits, payments, refunds, exceptions, payouts and events')
    .argument('<text>', 'a word, an amount, an e-mail, a payment link, or any part of an id')
    .option(...AS_JSON)
    .action(apiAction(terminal, search, withDatabase))
}

/** Of each kind: as many as the API gives. */
const LIMIT = 20

async function search(api: Api, terminal: Terminal, q: string, options: JsonOption): Promise<void> {
  const { results } = await api.call('searchAll', { query: { q, limit: LIMIT } })
  printList(terminal, options, results, {
    empty: 'Nothing was found.',
    columns: {
      KIND: ({ kind }) => kind,
      AT: ({ at }) => moment(at),
      ID: ({ id }) => id,
      TITLE: ({ title }) => cut(title, 40),
      STATUS: ({ status }) => status ?? '',
      AMOUNT: ({ value }) => (value === null ? '' : formatReais(value)),
      ACCOUNT: ({ accountName }) => accountName ?? '',
    },
  })
}
