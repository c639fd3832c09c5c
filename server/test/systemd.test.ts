import { execFile } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { makeSystemdNotifier, readSystemd } from '../src/base/systemd.ts'
import { isInstalled } from './programs.ts'
import { temporaryHome } from './process.ts'
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
      const unit = readFileSync(join(UNITS, name), 'utf8').replaceAll(
        '/opt/guiche/node_modules/.bin/guiche',
        '/bin/true',
      )
      writeFileSync(join(folder, name), unit)
    }
    const paths = names.map((name) => join(folder, name))
    const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', ...paths])
    expect(`${stdout}${stderr}`).not.toContain(folder)
    // 0 is locked in, 10 is root without bounds; 1.5 when this was written.
    await run('systemd-analyze', ['security', '--offline=true', '--threshold=20', join(folder, 'guiche.service')])
  },
)

test('systemd hears that the service is ready, alive and stopping, and only if it listens', async () => {
  const folder = temporaryHome()
  const heard = () => (existsSync(join(folder, 'heard')) ? readFileSync(join(folder, 'heard'), 'utf8').split('\n') : [])
  writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\necho "$1" >>'${folder}/heard'\n`)
  chmodSync(join(folder, 'systemd-notify'), 0o755)
  const path = process.env['PATH']
  process.env['PATH'] = `${folder}:${path}`
  onTestFinished(() => void (process.env['PATH'] = path))
  const log = { debug() {}, info() {}, warn() {}, error: (_: object, text: string) => expect.unreachable(text) }

  const unheard = makeSystemdNotifier(readSystemd({ WATCHDOG_USEC: '60000000' }), log)
  await unheard.ready()
  expect(heard()).toEqual([])

  const systemd = makeSystemdNotifier(
    readSystemd({ NOTIFY_SOCKET: '/run/systemd/notify', WATCHDOG_USEC: '300000' }),
    log,
  )
  await systemd.ready()
  expect(heard()).toEqual(['READY=1', ''])
  await until('two signs of life', async () => heard().filter((line) => line === 'WATCHDOG=1').length >= 2)
  await systemd.stopping()
  expect(heard()).toContain('STOPPING=1')
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
