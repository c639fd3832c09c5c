import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { npmEnv } from '../../../scripts/npm-env.ts'
import { temporaryHome } from '../process.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const NOBODY = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@example.com',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@example.com',
}
const VERSION = '7.8.9-rc.1'

test('npm run release sets the version everywhere, packs, keeps the build, commits and tags', () => {
  const { folder, git, release } = clone()
  const before = git('rev-parse', 'HEAD')
  const old = readVersion(folder, 'package.json')
  const dry = release(VERSION, '--dry-run')
  expect([dry.status, dry.stdout]).toEqual([0, expect.stringMatching(/^Would run the checks: bash .ci\/run/)])
  expect(dry.stdout).toContain(`Would change the version from ${old} to ${VERSION}`)
  expect([git('status', '--porcelain'), git('rev-parse', 'HEAD')]).toEqual(['', before])

  const out = join(folder, 'dist/packages')
  const done = release(VERSION, '--skip-checks', '--out', out)
  expect([done.status, done.stderr]).toEqual([0, expect.any(String)])
  const parts = ['server', 'web', 'sdk', 'sandbox']
  for (const path of ['package.json', ...parts.map((name) => `${name}/package.json`)])
    expect([path, readVersion(folder, path)]).toEqual([path, VERSION])
  const lockfile = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  const versions = ['', ...parts].map((name) => lockfile.packages[name].version)
  expect([lockfile.version, ...versions]).toEqual(Array(6).fill(VERSION))
  expect(JSON.parse(readFileSync(join(folder, 'server/openapi.json'), 'utf8')).info.version).toBe(VERSION)
  expect(git('grep', '-lF', `guiche:${old}`, '--', 'deploy', 'docs').trim()).toBe('')
  expect(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')).toMatch(
    new RegExp(`\\n## \\[Unreleased\\]\\n\\n## \\[${VERSION}\\] - \\d{4}-\\d\\d-\\d\\d\\n\\n### `),
  )
  expect(readdirSync(out).toSorted()).toEqual([
    `guiche-${VERSION}.tgz`,
    `guiche-sandbox-${VERSION}.tgz`,
    `guiche-sdk-${VERSION}.tgz`,
    'sbom.cdx.json',
  ])
  expect(readdirSync(join(folder, 'server/test/releases'))).toEqual([`guiche-${VERSION}.tgz`])
  expect(git('status', '--porcelain')).toBe('')
  expect(git('log', '--format=%s', `${before}..v${VERSION}`)).toBe(`release: ${VERSION}`)
  expect(git('cat-file', '-t', `v${VERSION}`)).toBe('tag')
  expect(release(VERSION, '--skip-checks').stderr).toBe(`The tag v${VERSION} exists.\n`)
})

test('npm run release refuses another branch, changes, an empty changelog and what is no version', () => {
  const { folder, git, release } = clone()
  expect(release('--help').stdout).toMatch(/^npm run release -- VERSION/)
  expect(release('1.0').stderr).toMatch(/^Name one version/)
  expect(release().stderr).toMatch(/^Name one version/)
  git('checkout', '--quiet', '-b', 'other')
  expect(release(VERSION).stderr).toBe('A release is made on main, and this is other.\n')
  git('checkout', '--quiet', 'main')
  writeFileSync(join(folder, 'notes.txt'), '')
  expect(release(VERSION).stderr).toBe('Commit or remove these changes first:\n?? notes.txt\n')
  rmSync(join(folder, 'notes.txt'))
  writeFileSync(
    join(folder, 'CHANGELOG.md'),
    '# Changelog\n\n## [Unreleased]\n\n## [0.0.1] - 2026-01-01\n\n- A thing.\n',
  )
  git('commit', '--quiet', '--all', '-m', 'changelog')
  expect(release(VERSION).stderr).toBe('CHANGELOG.md says nothing under Unreleased.\n')
})

/** A clone of the working tree, with the dependencies of this checkout. */
function clone() {
  const folder = join(temporaryHome(), 'clone')
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  for (const path of execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\0').filter(Boolean))
    if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(folder, path))
  const env = { ...npmEnv, ...NOBODY }
  const git = (...args: string[]) => {
    const { stdout, stderr, status } = spawnSync('git', args, { cwd: folder, env, encoding: 'utf8' })
    expect([args, status! <= 1, stderr]).toEqual([args, true, expect.any(String)])
    return stdout.trim()
  }
  // Right after a release nothing stands under Unreleased.
  const changelog = join(folder, 'CHANGELOG.md')
  const text = readFileSync(changelog, 'utf8')
  writeFileSync(changelog, text.replace('## [Unreleased]\n', '## [Unreleased]\n\n### Added\n\n- A thing.\n'))
  git('init', '--quiet', '--initial-branch=main')
  appendFileSync(join(folder, '.git/info/exclude'), 'node_modules\n')
  for (const path of ['node_modules', 'server/node_modules', 'web/node_modules', 'sdk/node_modules'])
    if (existsSync(join(ROOT, path))) symlinkSync(join(ROOT, path), join(folder, path))
  git('add', '--all')
  git('commit', '--quiet', '-m', 'clone')
  const script = join(folder, 'scripts/release.mjs')
  const release = (...args: string[]) =>
    spawnSync(process.execPath, [script, ...args], { cwd: folder, env, encoding: 'utf8' })
  return { folder, git, release }
}

function readVersion(folder: string, path: string): string {
  return JSON.parse(readFileSync(join(folder, path), 'utf8')).version
}
