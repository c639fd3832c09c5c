import { existsSync, readFileSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { chooseOwner, createCluster } from '../../src/db/embedded/home.ts'
import { preparedHome, runCli, startServer, temporaryHome } from '../process.ts'

const OLD_MAJOR = 15
const OLD_PROGRAMS = `/usr/lib/postgresql/${OLD_MAJOR}/bin`

const majorOf = (home: string) => Number(readFileSync(join(home, 'data/PG_VERSION'), 'utf8'))

// This needs programs of the older version, which Debian's package postgresql-15 has.
test.skipIf(!existsSync(join(OLD_PROGRAMS, 'initdb')))(
  'an upgrade moves every row to the new version, the audit agrees, and the old database can be put back',
  async () => {
    const home = await oldHome()
    const env = { GUICHE_HOME: home }
    const before = await startServer(env)
    expect(await runCli(['seed', '--deposits', '60'], env)).toMatchObject({ code: 0 })

    const rehearsal = await runCli(['upgrade-database', '--dry-run'], env)
    expect(rehearsal.stdout).toContain('would work. Nothing was changed.')
    expect(await runCli(['upgrade-database'], env)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is in use: stop every guiche process first'),
    })
    expect(majorOf(home)).toBe(OLD_MAJOR)
    expect(await before.end('SIGTERM')).toBe(0)

    const upgraded = await runCli(['upgrade-database'], env)
    expect(upgraded).toMatchObject({ code: 0, stdout: expect.stringContaining('Everything agrees') })
    const kept = join(home, `before-upgrade-${OLD_MAJOR}`)
    expect(upgraded.stdout).toContain(`The old database is kept in ${kept}.`)
    expect([majorOf(home) > OLD_MAJOR, majorOf(kept)]).toEqual([true, OLD_MAJOR])
    expect(readdirSync(home).filter((name) => /upgrade\.new|upgraded/.test(name))).toEqual([])

    const after = await startServer(env)
    const answer = await fetch(`${after.url}/api/deposit`, {
      method: 'POST',
      headers: { authorization: `Bearer ${keyOf(before.output())}`, 'content-type': 'application/json' },
      body: '{"value":5000}',
    })
    expect(answer.status).toBe(201)
    expect(await after.end('SIGTERM')).toBe(0)
    expect((await runCli(['upgrade-database'], env)).stderr).toContain('there is nothing to do')

    renameSync(join(home, 'data'), join(home, 'data-away'))
    for (const name of readdirSync(kept)) renameSync(join(kept, name), join(home, name))
    expect(await runCli(['migrate', '--dry-run'], env)).toMatchObject({ code: 0 })
    expect(majorOf(home)).toBe(OLD_MAJOR)
  },
)

test('an upgrade that was killed in the middle of its switch is finished by the next start', async () => {
  const home = preparedHome()
  renameSync(join(home, 'data'), join(home, 'data.upgraded'))
  const started = await runCli(['migrate'], { GUICHE_HOME: home })
  expect(started).toMatchObject({ code: 0, stderr: expect.stringContaining('The database is up to date.') })
  expect(existsSync(join(home, 'data.upgraded'))).toBe(false)
})

/** A home that an installation with the older version has made. */
async function oldHome(): Promise<string> {
  const home = temporaryHome()
  const owner = await chooseOwner(join(home, 'data'))
  await createCluster({ home, bin: OLD_PROGRAMS, major: OLD_MAJOR, owner, password: 'a'.repeat(64) })
  return home
}

function keyOf(output: string): string {
  return /API key: (\S+)/.exec(output)![1]!
}
