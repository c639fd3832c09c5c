// `npm run release -- VERSION`: everything about a release except publishing it, which its last lines explain.

import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ensureBuilt, fail, root, run, workspaces } from './bootstrap.mjs'

const HELP = `npm run release -- VERSION [options]

On a clean branch main: runs the checks, sets the version in all files that name it, moves the changelog's Unreleased to
the version, keeps the build for the compatibility test of the next release, packs server, sdk and sandbox, commits and
tags.
Nothing is pushed or published.

  --skip-checks  leave out .ci/run and npm run prove
  --out FOLDER   where the packages go; dist/vVERSION by default
  --dry-run      only say what would be done
  --help         this text`

const VERSION = /^\d+\.\d+\.\d+(-[a-z]+\.\d+)?$/
const PACKED = ['server', 'sdk', 'sandbox']
const CHECKS = [
  ['bash', '.ci/run'],
  ['npm', 'run', 'prove'],
]
/** Beside the package.json files and the lockfile, these name the version. */
const NAMING = [
  'deploy/docker/Dockerfile',
  'deploy/docker/compose.yaml',
  'deploy/helm/guiche/Chart.yaml',
  'docs/command-line.md',
  'docs/deploy.md',
  'sandbox/README.md',
  'sdk/README.md',
  'server/openapi.json',
]
const CHANGELOG = 'CHANGELOG.md'
const UNRELEASED = '## [Unreleased]\n'
/** previous-release.test.ts runs the build that is kept here on the schema of later versions. */
const KEPT = 'server/test/releases'
/** Parts of the package that the test does not need. It uses the dependencies of the checkout. */
const NOT_KEPT = ['bin', 'dashboard', 'npm-shrinkwrap.json']
const UNDO = 'Nothing was committed: git stash --include-untracked puts what was changed aside.'

const options = readOptions()
const { version, isDry } = options
const current = JSON.parse(read('package.json')).version
const changelog = read(CHANGELOG)
refuseUnlessReady()
await doOrSay(`run the checks: ${CHECKS.map((command) => command.join(' ')).join(', ')}`, runChecks, options.checks)
await doOrSay(`change the version from ${current} to ${version}`, setVersion)
await doOrSay(`move Unreleased of ${CHANGELOG} to ${version}`, moveUnreleased)
await doOrSay(`keep the build in ${KEPT}`, keepBuild)
await doOrSay(`pack ${PACKED.join(' and ')} into ${options.out}`, pack)
await doOrSay(`commit, and tag it v${version}`, commit)
if (isDry) console.log('Nothing was changed: this was a dry run.')
else
  console.log(`Released ${version}. To publish it: git push origin main v${version}, then make a release of the tag, with
its section of ${CHANGELOG} and the files of ${options.out}.`)

function readOptions() {
  const flags = { 'skip-checks': { type: 'boolean' }, out: { type: 'string' }, 'dry-run': { type: 'boolean' } }
  try {
    const { values, positionals } = parseArgs({
      options: { ...flags, help: { type: 'boolean' } },
      allowPositionals: true,
    })
    if (values.help) {
      console.log(HELP)
      process.exit(0)
    }
    const [version] = positionals
    if (positionals.length !== 1 || !VERSION.test(version))
      throw new Error('Name one version, such as 1.2.0 or 1.2.0-rc.1.')
    const out = resolve(values.out ?? join(root, 'dist', `v${version}`))
    return { version, out, checks: !values['skip-checks'], isDry: values['dry-run'] === true }
  } catch (error) {
    return fail(`${error.message}\n\n${HELP}`)
  }
}

function refuseUnlessReady() {
  const branch = git('branch', '--show-current')
  if (branch !== 'main') fail(`A release is made on main, and this is ${branch || 'no branch'}.`)
  const changed = git('status', '--porcelain')
  if (changed !== '') fail(`Commit or remove these changes first:\n${changed}`)
  if (git('tag', '--list', `v${version}`) !== '') fail(`The tag v${version} exists.`)
  const [, unreleased = ''] = changelog.split(UNRELEASED)
  if (unreleased.split('\n## ')[0].trim() === '') fail(`${CHANGELOG} says nothing under Unreleased.`)
}

async function doOrSay(what, work, isWanted = true) {
  if (!isWanted) return
  console.log(isDry ? `Would ${what}.` : `Now: ${what}.`)
  if (!isDry) await work()
}

async function runChecks() {
  for (const command of CHECKS) await runOrFail(command)
}

function setVersion() {
  const named = new RegExp(`(?<![\\d.])${current.replaceAll('.', '\\.')}(?!\\d|\\.\\d)`, 'g')
  for (const path of NAMING) {
    const text = read(path)
    const changed = text.replaceAll(named, version)
    if (changed === text && version !== current) fail(`${path} does not name the version ${current}. ${UNDO}`)
    write(path, changed)
  }
  for (const path of ['package.json', ...workspaces().map((name) => `${name}/package.json`)])
    write(path, read(path).replace(/^ {2}"version": ".*"/m, `  "version": "${version}"`))
  const lockfile = JSON.parse(read('package-lock.json'))
  for (const entry of [lockfile, ...['', ...workspaces()].map((name) => lockfile.packages[name])])
    entry.version = version
  write('package-lock.json', `${JSON.stringify(lockfile, null, 2)}\n`)
}

function moveUnreleased() {
  const day = new Date().toISOString().slice(0, 10)
  write(CHANGELOG, changelog.replace(UNRELEASED, `${UNRELEASED}\n## [${version}] - ${day}\n`))
}

async function keepBuild() {
  await ensureBuilt()
  rmSync(join(root, KEPT), { recursive: true, force: true })
  mkdirSync(join(root, KEPT))
  const archive = join(KEPT, `guiche-${version}.tgz`)
  const content = JSON.parse(read('server/package.json')).files.filter((name) => !NOT_KEPT.includes(name))
  await runOrFail(['tar', '-czf', archive, '--exclude=*.map', '-C', 'server', 'package.json', ...content])
}

async function pack() {
  rmSync(options.out, { recursive: true, force: true })
  mkdirSync(options.out, { recursive: true })
  await runOrFail(['npm', 'pack', ...PACKED.flatMap((name) => ['-w', name]), '--pack-destination', options.out])
  const sbom = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']
  writeFileSync(join(options.out, 'sbom.cdx.json'), execFileSync('npm', sbom, { cwd: root }))
}

function commit() {
  git('add', '--all')
  git('commit', '--quiet', '-m', `release: ${version}`)
  git('tag', '-a', `v${version}`, '-m', version)
}

async function runOrFail(command) {
  const { code } = await run(command, { inherit: true })
  if (code !== 0) fail(`${command.join(' ')} failed. ${UNDO}`)
}

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
}

function read(path) {
  return readFileSync(join(root, path), 'utf8')
}

function write(path, text) {
  writeFileSync(join(root, path), text)
}
