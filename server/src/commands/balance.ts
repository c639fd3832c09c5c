import type { Command } from 'commander'
import { formatReais } from '../base/money.ts'
import { BY_API, serviceAction, type Api } from './api.ts'
import { addCommand, AS_JSON } from './arguments.ts'
import { printOne, type JsonOption, type Terminal } from './terminal.ts'

export function balanceCommand(program: Command, terminal: Terminal): void {
  addCommand(program, 'balance', '', '--json')
    .description('show the balance of an account, from anywhere')
    .option(...AS_JSON)
    .addHelpText('after', BY_API)
    .action(serviceAction(terminal, showBalance))
}

async function showBalance({ call }: Api, terminal: Terminal, options: JsonOption): Promise<void> {
  printOne(terminal, options, await call('getBalance', {}), describe)
}

function describe({ balance, owed }: { balance: number; owed: number }): string {
  return owed > 0 ? `${formatReais(balance)}, and ${formatReais(owed)} are owed` : formatReais(balance)
}
