import { randomBytes } from 'node:crypto'
import { OperatorError } from '../base/operator-error.ts'
import { ProviderError, type Provider, type ProviderCharge } from '../domain/ports/provider.ts'
import { fine, wrong, type Finding } from './doctor-machine.ts'
import { openPrompt } from './prompt.ts'
import { withContext, type Terminal } from './terminal.ts'

export type LiveCheckOptions = { provider?: string; yes?: true }

const CENTS = 1
// The shortest that providers take: if it cannot be withdrawn, nobody can pay it for long.
const EXPIRES_SECONDS = 300

/** Tries a provider as deposits do. The charge is not in the books: a payment of it would open an exception. */
export async function liveCheck(terminal: Terminal, options: LiveCheckOptions): Promise<Finding[]> {
  return withContext(terminal, async ({ providers }) => {
    const names = providers.map(({ name }) => name).join(', ')
    const provider = providers.find(({ name }) => name === options.provider)
    if (!provider) throw new OperatorError(`Add --provider with the name of one of your providers: ${names}`)
    terminal.say(`This makes a real charge of one cent at ${provider.name}, reads it, and withdraws it.
Nobody gets its code, so no money moves. Some banks bill each charge.`)
    if (!options.yes) await confirm(terminal)
    return tryCharge(provider)
  })
}

async function confirm({ keyboard, screen }: Terminal): Promise<void> {
  if (!keyboard) throw new OperatorError('There is no terminal to ask at: add --yes')
  const prompt = openPrompt(keyboard, screen)
  try {
    const answer = await prompt.ask('Go on? y or n [n]:')
    if (!/^y(es)?$/i.test(answer)) throw new OperatorError('Stopped; no charge was made')
  } finally {
    prompt.close()
  }
}

async function tryCharge(provider: Provider): Promise<Finding[]> {
  const txid = randomBytes(16).toString('hex')
  const request = { txid, valueCents: CENTS, expiresInSeconds: EXPIRES_SECONDS, description: null }
  const findings: Finding[] = []
  const step = async (what: string, work: () => Promise<string>) => {
    try {
      findings.push(fine(what, await work()))
      return true
    } catch (error) {
      findings.push(wrong(what, explain(error)))
      return !isSurelyNothing(error)
    }
  }
  const mayExist = await step('create', async () => {
    const { expiresAt } = await provider.create(request)
    return `made charge ${txid}, with a code to pay, until ${expiresAt.toISOString()}`
  })
  // Also after an unknown outcome: what may have been made is withdrawn.
  if (!mayExist) return findings
  await step('read', async () => `it is ${requireStatus(await provider.check(txid), 'active')}`)
  await step('withdraw', async () => {
    const outcome = await provider.cancel(txid)
    if (outcome === 'withdrawn') return 'the provider took it back'
    throw new Error(`the provider says ${outcome}: see the next step`)
  })
  await step('read again', async () => `it is ${requireStatus(await provider.check(txid), 'withdrawn')}`)
  const problem = provider.accessProblem?.()
  return problem ? [...findings, wrong('access', problem)] : findings
}

function requireStatus(charge: ProviderCharge | 'absent', wanted: ProviderCharge['status']): string {
  const status = charge === 'absent' ? 'absent' : charge.status
  if (status === wanted) return status
  if (status === 'absent') throw new Error('the provider does not know it: is the charge read where it is made?')
  if (status === 'paid') throw new Error('somebody paid it: the payment will be an exception, which you can refund')
  throw new Error(`it is ${status}, and not ${wanted}: withdraw it at the bank, or wait until it expires`)
}

function isSurelyNothing(error: unknown): boolean {
  return error instanceof ProviderError && error.outcome !== 'unknown'
}

const ADVICE = {
  refused: 'The text is the provider’s: check client id, secret, scopes, Pix key, and what its contract allows',
  unreachable: 'Check URL and token URL, the certificate, and that this machine reaches the provider',
  unknown: 'Look at the provider whether it was done, and try again',
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error instanceof ProviderError ? `${error.message}. ${ADVICE[error.outcome]}` : error.message
}
