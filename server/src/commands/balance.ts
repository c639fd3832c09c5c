import type { Command } from 'commander'
import { formatReais } from '../base/money.ts'
import { addCommand, AS_JSON } from './arguments.ts'
import type { Service } from './service.ts'
import { BY_API, serviceAction } from './source.ts'
import { printOne, type JsonOption, type Terminal } from './terminal.ts'

export function balanceCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'balance', '', '--json')
    .description('show the balance of an account, from anywhere')
    .option(...AS_JSON)
    .addHelpText('after', BY_API)
    .action(serviceAction(terminal, showBalance))
}

async function showBalance({ ask }: Service, terminal: Terminal, options: JsonOption): Promise<void> {
  const { balance, currency } = await ask<{ balance: number; currency: string }>('GET', '/api/balance')
  printOne(terminal, options, { balance, currency }, () => formatReais(balance))
}
