import { randomBytes } from 'node:crypto'
import type { Config } from '../config.ts'
import { clockText } from '../db/clock.ts'
import { describeDatabase } from '../db/ready.ts'
import type { Context } from '../domain/context.ts'
import { findCursorsAhead } from '../domain/sweeps.ts'
import { withContext, type Terminal } from './terminal.ts'

type Finding = { ok: boolean; what: string; text: string }

export async function doctorCommand(config: Config, terminal: Terminal): Promise<void> {
  const findings: Finding[] = [
    {
      ok: true,
      what: 'configuration',
      text: `${config.settings.mode} mode, PUBLIC_URL ${config.publicUrl}, GUICHE_HOME ${config.home}`,
    },
  ]
  try {
    await withContext(config, terminal, async (ctx) => {
      findings.push(...(await examineDatabase(config, ctx)))
      for (const provider of ctx.providers) findings.push(await examineProvider(ctx, provider.name))
    })
  } catch (error) {
    findings.push({ ok: false, what: 'database', text: (error as Error).message })
  }
  for (const { ok, what, text } of findings) terminal.print(`${ok ? '✓' : '✗'} ${what.padEnd(20)} ${text}`)
  if (findings.some((finding) => !finding.ok)) process.exitCode = 1
}

async function examineDatabase(config: Config, ctx: Context): Promise<Finding[]> {
  const { version, migrations } = await describeDatabase(ctx.pool)
  const ahead = await findCursorsAhead(ctx)
  return [
    {
      ok: true,
      what: 'database',
      text: `PostgreSQL ${version}${config.databaseUrl ? '' : ' (embedded)'}, ${migrations} migrations`,
    },
    {
      ok: ctx.clock.agrees(),
      what: 'clock',
      text: ctx.clock.agrees() ? 'agrees with the database' : clockText(ctx.clock.offsetMs()),
    },
    ...ahead.map(({ provider, sweptUntil, nextClosing }) => ({
      ok: false,
      what: `reconciliation ${provider}`,
      text: `its cursor is in the future (read until ${sweptUntil.toISOString()}, next day to close ${nextClosing}): the running service rewinds it`,
    })),
  ]
}

async function examineProvider(ctx: Context, name: string): Promise<Finding> {
  const provider = ctx.providers.find((candidate) => candidate.name === name)!
  const what = `provider ${name}`
  try {
    // A charge that cannot exist: the answer proves credentials and the way there, and costs nothing.
    await provider.check(randomBytes(16).toString('hex'))
    return { ok: true, what, text: 'reachable, and takes our credentials' }
  } catch (error) {
    return { ok: false, what, text: (error as Error).message }
  }
}
