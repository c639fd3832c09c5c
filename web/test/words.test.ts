import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

// Each reader sees one name for a thing. The texts are beside the pages, so the folder tells who reads them.

const SOURCES = join(import.meta.dirname, '../src')

test.each([
  [
    'account holders read of the service by its name, not of an operator',
    ['account', 'sign-in'],
    /operador|(the|your) operator\b/i,
  ],
  // At the counter somebody asks a payer for money, who reads of charges too.
  [
    'account holders read of deposits, not of charges, but for the counter',
    readdirSync(join(SOURCES, 'account')).flatMap((folder) => (folder === 'counter' ? [] : `account/${folder}`)),
    /cobrança(?!”)|\bcharge(?![`”\w])/i,
  ],
  ['account holders read that money is under review, not that it is held', ['account'], /retid[oa]|\bheld\b/i],
  ['operators read of charges, not of deposits', ['operator'], /(depósito|deposit)(?![”\w])/i],
  ['the ledger is the livro-razão', ['account', 'operator'], /(?<!livro-)razão/i],
])('%s', (_, folders, wrong) => {
  const texts = folders.flatMap((folder) => textsIn(join(SOURCES, folder)))
  expect(texts.length).toBeGreaterThan(100)
  expect(texts.filter(({ text }) => wrong.test(text))).toEqual([])
})

/** The texts that readers see: they have a space in them, which no name in the code has. */
function textsIn(folder: string): { file: string; text: string }[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/(['`])((?:(?!\1).)* (?:(?!\1).)*)\1/g)].map(
        ([, , text]) => ({ file, text: text!.replaceAll(/\$\{[^}]*\}/g, '') }),
      ),
    )
}
