import { Option, type Command } from 'commander'
import type { Config } from '../config/config.ts'
import { SERVICE_ROLES, type ServiceRole } from '../db/presence.ts'
import type { Say } from '../open-database.ts'
import { addCommand, wholeNumber } from './arguments.ts'
import type { Terminal } from './terminal.ts'

/** More processes than processors are of no use, and each has a pool of connections. */
const MAX_PROCESSES = 64

/** Passed in, because commands may not import main.ts. */
export type Start = (config: Config, print: Say, processes: number) => Promise<void>

export function startCommand(program: Command, terminal: Terminal, start: Start): void {
  addCommand(program, 'start', '')
    .description('run the service: HTTP, workers, and in sandbox mode the sandbox bank')
    .addOption(
      new Option('--role <role>', 'all: everything; api: answer requests; worker: do what is due').choices(
        SERVICE_ROLES,
      ),
    )
    .option(
      '--processes <n>',
      'how many processes share the port of this machine',
      wholeNumber({ min: 1, max: MAX_PROCESSES }),
      1,
    )
    .addHelpText(
      'after',
      `
Any number of processes may share one database, on any number of machines. With --role api, some process must run
with --role worker (or all): it confirms payments, sends webhooks, runs refunds and reconciles. A worker serves only
/livez, /readyz and /metrics on its port. --role wins over ROLE.

  $ guiche start                              # everything in one process
  $ guiche start --processes 4                # everything in four, for a machine with four processors
  $ guiche start --role api --processes 3     # requests here…
  $ PORT=3001 guiche start --role worker      # …and workers there

Settings come from the environment and .env; docs/configuration.md lists them.`,
    )
    .action(({ role, processes }: { role?: ServiceRole; processes: number }) => {
      const config = terminal.loadConfig()
      return start({ ...config, role: role ?? config.role }, terminal.print, processes)
    })
}
