import { Fault } from '../../base/fault.ts'
import { query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { CODE } from '../core/seals.ts'

// Somebody who can write to the database could put their own code into a charge, and payers would pay them. So a code
// is shown only if it fits the seal that it got when the provider made it.

type StoredCode = { id: string; provider: string; emv: string; codeSeal: Buffer | null }

const sealedThroughout = new WeakSet<Core>()

/** The charges, without the codes that do not fit. */
export async function withGenuineCodes<Charge extends StoredCode>(core: Core, charges: Charge[]): Promise<Charge[]> {
  const altered = new Set<Charge>()
  for (const charge of charges) if (charge.emv !== '' && !(await isGenuine(core, charge))) altered.add(charge)
  if (altered.size === 0) return charges
  return charges.map((charge) => {
    if (!altered.has(charge)) return charge
    core.metrics.alteredCodes.inc()
    core.log.error({ chargeId: charge.id }, 'the code of a charge was altered in the database, and is not shown')
    return { ...charge, emv: '' }
  })
}

async function isGenuine(core: Core, { id: chargeId, provider, emv, codeSeal }: StoredCode): Promise<boolean> {
  const { sealer } = core.settings
  if (!codeSeal) return !(await areAllSealed(core))
  return [false, true].some((hasKey) => sealer.fits(codeSeal, CODE.textOf({ chargeId, provider, emv, hasKey })))
}

/** The release before this one wrote charges without seals. They get one when it is gone: see core/seal-as-found.ts. */
async function areAllSealed(core: Core): Promise<boolean> {
  if (sealedThroughout.has(core)) return true
  const marks = await query(core.pool, 'select from seal_marks limit 1')
  if (marks.length > 0) sealedThroughout.add(core)
  return marks.length > 0
}

/** Of a charge that is to be shown to its payer. */
export function requireCode<Charge extends { status: string; emv: string }>(charge: Charge): Charge {
  if (charge.emv !== '' || charge.status !== 'PENDING') return charge
  throw new Fault(
    'code_altered',
    'The stored code of this charge is not the one that its provider made: tell the operator',
  )
}
