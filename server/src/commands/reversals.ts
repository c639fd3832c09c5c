import { Option, type Command } from 'commander'
import { decimalFromCents, formatReais } from '../base/money.ts'
import { NATURES, type Nature } from '../domain/ports/provider.ts'
import { apiAction, type Api } from './api.ts'
import { addCommand, AS_JSON, limit, ONLY_ACCOUNT, wholeNumber } from './arguments.ts'
import { moment } from './format.ts'
import { printList, type JsonOption, type Terminal } from './terminal.ts'

export function reversalCommands(program: Command, terminal: Terminal): void {
  const reversals = program
    .command('reversals')
    .description('list what banks returned to payers without a request, such as after a report of fraud')
  addCommand(reversals, 'list', '--nature fraud --email ana@loja.example')
    .description('list the newest reversals, with who bears each')
    .option(...ONLY_ACCOUNT)
    .addOption(new Option('--nature <nature>', 'only of this nature').choices(NATURES))
    .option(...limit(50))
    .option(...AS_JSON)
    .action(apiAction(terminal, listCommand))
  addCommand(reversals, 'rates', '--days 30')
    .description('show the share of reversals in what was paid, by account and day')
    .option(...ONLY_ACCOUNT)
    .option('--days <n>', 'of the last days (default: 30)', wholeNumber({ min: 1, max: 90 }))
    .option(...AS_JSON)
    .action(apiAction(terminal, ratesCommand))
}

type ListOptions = JsonOption & { email?: string; nature?: Nature; limit: number }

async function listCommand(api: Api, terminal: Terminal, { json, email, ...filter }: ListOptions): Promise<void> {
  const accountId = email && (await api.accountId(email))
  printList(terminal, { json }, await api.list('listReversals', { ...filter, accountId }), {
    empty: 'No reversal matches.',
    columns: {
      AT: (reversal) => moment(reversal.at),
      NATURE: (reversal) => reversal.nature,
      AMOUNT: (reversal) => formatReais(reversal.value),
      CHARGED: (reversal) => (reversal.charged === null ? '' : formatReais(reversal.charged)),
      OWED: (reversal) => (reversal.owed ? formatReais(reversal.owed) : ''),
      ACCOUNT: (reversal) => reversal.email,
      PAYMENT: (reversal) => reversal.endToEndId,
      EXCEPTION: (reversal) => (reversal.state === 'open' ? (reversal.exceptionId ?? '') : ''),
    },
  })
}

type RatesOptions = JsonOption & { email?: string; days?: number }

async function ratesCommand(api: Api, terminal: Terminal, { json, email, days }: RatesOptions): Promise<void> {
  const query = { ...(days && { days }), ...(email && { accountId: await api.accountId(email) }) }
  const { rates } = await api.call('getReversalRates', { query })
  printList(terminal, { json }, rates, {
    empty: 'No account had a reversal on these days.',
    columns: {
      DAY: (rate) => rate.day,
      ACCOUNT: (rate) => rate.email,
      PAID: (rate) => `${rate.paid} (${formatReais(rate.paidValue)})`,
      REVERSED: (rate) => `${rate.reversed} (${formatReais(rate.reversedValue)})`,
      FRAUD: (rate) => `${rate.fraud} (${formatReais(rate.fraudValue)})`,
      SHARE: (rate) => shareText(rate),
    },
  })
}

/** Of the deposits that were paid on that day, in percent. Many of those that were returned had been paid before. */
function shareText({ paid, reversed }: { paid: number; reversed: number }): string {
  return paid === 0 ? '' : `${decimalFromCents(Math.round((10_000 * reversed) / paid))} %`
}
