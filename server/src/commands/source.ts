import { OperatorError } from '../base/operator-error.ts'
import type { Remote } from '../config.ts'
import { makeService, type Service } from './service.ts'
import type { Terminal } from './terminal.ts'

/**
 * Commands that the API is enough for work on either: the database, or the service that GUICHE_URL names. Both give
 * what the API answers, so that a command prints the same.
 */
export type Places<Opened, Source> = {
  /** withDatabase or withContext. */
  open(terminal: Terminal, work: (opened: Opened) => Promise<void>): Promise<void>
  /** Loads the presenters of the API, for which other commands do not wait. */
  inDatabase(opened: Opened, terminal: Terminal): Promise<Source>
  atService(service: Service): Source
}

/** For the help of a command that the API alone serves. */
export const BY_API = `
It uses the API, from anywhere. Set GUICHE_URL to the service, such as https://pay.example.com, and GUICHE_KEY to an API
key of the account, from the dashboard or: guiche key create`

/** An action on one of two places. */
export function sourceAction<Opened, Source, Args extends unknown[]>(
  terminal: Terminal,
  places: Places<Opened, Source>,
  work: (source: Source, terminal: Terminal, ...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    const remote = terminal.loadRemote()
    if (remote) return work(places.atService(openService(remote, terminal)), terminal, ...args)
    await places.open(terminal, async (opened) => work(await places.inDatabase(opened, terminal), terminal, ...args))
  }
}

/** An action that the API alone serves. */
export function serviceAction<Args extends unknown[]>(
  terminal: Terminal,
  work: (service: Service, terminal: Terminal, ...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  return async (...args) => {
    const remote = terminal.loadRemote()
    if (!remote)
      throw new OperatorError(
        'set GUICHE_URL to the service, such as http://localhost:3000, and GUICHE_KEY to an API key of the account',
      )
    await work(openService(remote, terminal), terminal, ...args)
  }
}

function openService(remote: Remote, terminal: Terminal): Service {
  if (!/^[\x21-\x7e]+$/.test(remote.key ?? ''))
    throw new OperatorError('GUICHE_KEY must be an API key, gk_live_… or gk_test_…, since GUICHE_URL is set')
  return makeService(remote, terminal.say)
}

/** A key belongs to one account, and another one must not be meant. */
export function refuseEmail(email: string | undefined): void {
  if (email === undefined) return
  throw new OperatorError('--email and GUICHE_URL exclude each other: GUICHE_KEY already belongs to an account')
}
