import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { verifyHistory } from '@guiche/sdk'
import { ACCOUNTS, VKEY } from './history-log.ts'
import { DAMAGES, keysOf, mixedLog, wholeLines } from './history-damages.ts'

// The second verifier, which shares no code with the first one, on the same files. It needs Debian's golang-go.

const SOURCE = fileURLToPath(new URL('../../docs/verify/main.go', import.meta.url))
const hasGo = spawnSync('go', ['version']).status === 0
const place = mkdtempSync(join(tmpdir(), 'guiche-go-'))
const program = join(place, 'verify')

// Compiled once: that takes longer than all tests of it.
beforeAll(() => {
  if (hasGo) execFileSync('go', ['build', '-o', program, SOURCE], { env: { ...process.env, GO111MODULE: 'off' } })
})
beforeEach(({ skip }) => skip(!hasGo, 'there is no Go: install golang-go'))
afterAll(() => rmSync(place, { recursive: true }))

function runGo(file: string, keys: string[] = [VKEY]): { code: number | null; said: string } {
  const { status, stderr } = spawnSync(program, keys, { input: file, encoding: 'utf8' })
  return { code: status, said: stderr }
}

const fileOf = (lines: string[]) => lines.map((line) => `${line}\n`).join('')

test('the verifier in Go proves the same exports', () => {
  for (const size of [0, 1, 2, 255, 256, 257, 700, 1025]) {
    const log = mixedLog(size)
    for (const account of [...ACCOUNTS, '00000000-0000-0000-0000-000000000000'])
      expect({ size, account, ...runGo(fileOf(log.export(account))) }).toEqual({ size, account, code: 0, said: '' })
  }
})

// The lines of blocks prove nothing, so it does not read them.
const PROVING = DAMAGES.filter(({ name }) => name !== 'the hash of a block alone')

test.each(PROVING)('the verifier in Go finds $name in the same place', async (damage) => {
  const file = fileOf(damage.damage(wholeLines()))
  const { code, said } = runGo(file, keysOf(damage))
  const { ok, problems } = await verifyHistory(file, { keys: keysOf(damage) })
  expect({ said, ok, code }).toMatchObject({ ok: false, code: keysOf(damage).length === 0 ? 2 : 1 })
  const [, line] = /line (\d+)/.exec(said) ?? []
  const [, leaf] = /leaf (\d+)/.exec(said) ?? []
  if (line !== undefined) expect(problems[0]).toMatchObject({ line: Number(line) })
  if (leaf !== undefined) expect(problems.map((problem) => problem.leaf)).toContain(Number(leaf))
})
