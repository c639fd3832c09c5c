import { execFile } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { loadConfig } from '../src/config/config.ts'
import { makeSystemdNotifier } from '../src/process/systemd.ts'
import { isInstalled } from './programs.ts'
import { preparedHome, startServer, temporaryHome } from './process.ts'
import { until } from './world.ts'

const UNITS = fileURLToPath(new URL('../../deploy/systemd', import.meta.url))
const run = promisify(execFile)

test.skipIf(!isInstalled('systemd-analyze'))(
  'systemd accepts the units, and rates the service as well protected',
  async () => {
    const folder = temporaryHome()
    const names = readdirSync(UNITS)
    for (const name of names) {
      // The program is not installed where this test runs.
      const unit = readFileSync(join(UNITS, name), 'utf8').replaceAll('/opt/guiche/bin/guiche.mjs', '/bin/true')
      writeFileSync(join(folder, name), unit)
    }
    const paths = names.map((name) => join(folder, name))
    const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', ...paths])
    expect(`${stdout}${stderr}`).not.toContain(folder)
    // Before systemd 250, only units that are installed can be rated.
    const { stdout: help } = await run('systemd-analyze', ['--help'])
    if (!help.includes('--offline')) return
    // The threshold is in tenths: 0 is fully locked in, 100 is root without bounds. The unit was rated 15 when this was
    // written.
    await run('systemd-analyze', ['security', '--offline=true', '--threshold=20', join(folder, 'guiche.service')])
  },
)

test('systemd hears that the service is ready, alive and stopping', async () => {
  const home = preparedHome()
  const programs = temporaryHome()
  const heardPath = join(programs, 'heard')
  const heard = () => (existsSync(heardPath) ? readFileSync(heardPath, 'utf8').trim().split('\n') : [])
  writeFileSync(join(programs, 'systemd-notify'), `#!/bin/sh\necho "$1" >>'${heardPath}'\n`)
  chmodSync(join(programs, 'systemd-notify'), 0o755)
  const server = await startServer({
    GUICHE_HOME: home,
    PATH: `${programs}:${process.env['PATH']}`,
    NOTIFY_SOCKET: '/run/systemd/notify',
    WATCHDOG_USEC: '900000',
  })
  await until('two signs of life', async () => heard().filter((line) => line === 'WATCHDOG=1').length >= 2)
  expect(heard().indexOf('READY=1')).toBe(0)
  expect(heard()).not.toContain('STOPPING=1')
  expect(await server.end('SIGTERM')).toBe(0)
  expect(heard().filter((line) => line !== 'WATCHDOG=1')).toEqual(['READY=1', 'STOPPING=1'])
})

test('a service that systemd did not start sends it nothing', () => {
  expect(loadConfig({}).systemd).toBeUndefined()
  expect(loadConfig({ WATCHDOG_USEC: '60000000' }).systemd).toBeUndefined()
  expect(loadConfig({ NOTIFY_SOCKET: '/run/systemd/notify' }).systemd).toEqual({ watchdogMs: 0 })
})

test('a systemd-notify that fails is logged once, and the service goes on', async () => {
  const folder = temporaryHome()
  const path = process.env['PATH']
  process.env['PATH'] = folder
  onTestFinished(() => void (process.env['PATH'] = path))
  const logged: string[] = []
  const log = { debug() {}, info() {}, warn() {}, error: (_: object, text: string) => void logged.push(text) }
  const systemd = makeSystemdNotifier({ watchdogMs: 0 }, log)
  await systemd.ready()
  await systemd.stopping()
  expect(logged).toEqual(['systemd-notify READY=1 failed: systemd does not know that guiche runs'])
})
