import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const scripts = fileURLToPath(new URL('../../scripts', import.meta.url))

test('npm start on a machine without network says that this is the likely reason', async () => {
  const clone = mkdtempSync(join(tmpdir(), 'guiche-clone-'))
  onTestFinished(() => rmSync(clone, { recursive: true, force: true }))
  cpSync(scripts, join(clone, 'scripts'), { recursive: true })
  const manifest = { name: 'clone', version: '1.0.0', workspaces: [], dependencies: { absent: '1.0.0' } }
  const packages = { '': manifest, 'node_modules/absent': { version: '1.0.0' } }
  writeFileSync(join(clone, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(clone, 'package-lock.json'), JSON.stringify({ ...manifest, lockfileVersion: 3, packages }))
  const env = {
    ...process.env,
    npm_config_registry: 'http://127.0.0.1:1/',
    npm_config_fetch_retries: '0',
    npm_config_cache: join(clone, 'cache'),
    npm_config_proxy: '',
    npm_config_https_proxy: '',
  }
  const said = await new Promise<string>((resolve) => {
    execFile(process.execPath, [join(clone, 'scripts/start.mjs')], { cwd: clone, env }, (_, __, stderr) =>
      resolve(stderr),
    )
  })
  expect(said).toContain('The dependencies could not be installed. No network? npm could not reach its registry')
})
