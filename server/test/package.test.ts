import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startServer, temporaryHome } from './process.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

test('the packed server starts where there is no checkout, with its dashboard and its migrations', async () => {
  const home = temporaryHome()
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', home], { cwd: join(root, 'server') })
  const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string; files: { path: string }[] }]
  const paths = packed.files.map(({ path }) => path)
  expect(paths.filter((path) => !/^(bin|dashboard|data|dist|migrations)\/|^package\.json$/.test(path))).toEqual([])
  await run('tar', ['-xzf', packed.filename], { cwd: home })
  // As npm would install them, without fetching them again.
  symlinkSync(join(root, 'node_modules'), join(home, 'node_modules'))
  const data = join(home, 'data-of-guiche')
  mkdirSync(data, { mode: 0o755 })
  const server = await startServer({ GUICHE_HOME: data }, join(home, 'package/bin/guiche.mjs'))
  const page = await fetch(`${server.url}/`)
  expect(page.status).toBe(200)
  expect(await page.text()).toContain('/assets/')
  expect(await server.end('SIGTERM')).toBe(0)
})
