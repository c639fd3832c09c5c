import { readFileSync } from 'node:fs'
import type { IsBreached } from '../../base/breached-passwords.ts'
import { Fault } from '../../base/fault.ts'

// Refuses the passwords that an attacker tries first. PASSWORD_LENGTH is the other rule.

export type PasswordOwner = {
  email: string
  name: string
  publicUrl?: string
}

const SERVICE_NAME = 'guiche'
// Shorter parts of a name occur in other words by accident.
const MIN_PERSONAL_LENGTH = 4
// Letters that a password must have besides names, digits and signs.
const MIN_OWN_LETTERS = 4
const MAX_REPEATED_UNIT = 4

export function checkPassword(password: string, owner: PasswordOwner): void {
  if (isSimple(password))
    throw new Fault(
      'password_too_simple',
      'This password repeats a few characters or counts up or down: choose another, for example a sentence',
    )
  if (isPersonal(password, owner))
    throw new Fault(
      'password_personal',
      'This password is mostly your e-mail, your name or the name of this service: choose another',
    )
  if (isCommon(password)) throw new Fault('password_too_common', 'This password is too common: choose another')
}

/** For passwords that people choose in the dashboard, besides checkPassword(). */
export async function checkNotBreached({ isBreached }: { isBreached: IsBreached }, password: string): Promise<void> {
  if (await isBreached(password))
    throw new Fault('password_too_common', 'This password was published in a breach: choose another')
}

/** Nothing visible, one short piece repeated, or consecutive characters. */
function isSimple(password: string): boolean {
  const visible = password.replaceAll(/[\s\p{C}]/gu, '')
  if (visible === '') return true
  const letters = Array.from(visible.toLowerCase())
  for (let length = 1; length <= MAX_REPEATED_UNIT; length++)
    if (letters.length > length && letters.every((letter, at) => letter === letters[at % length])) return true
  return isCounting(letters, 1) || isCounting(letters, -1)
}

/** `123456789012` and `lkjihgfedcba`; 0 follows 9. */
function isCounting(letters: string[], by: 1 | -1): boolean {
  return letters.every((letter, at) => {
    if (at === 0) return true
    const before = letters[at - 1]!
    if (/\d/.test(letter) && /\d/.test(before)) return (Number(before) + by + 10) % 10 === Number(letter)
    return before.codePointAt(0)! + by === letter.codePointAt(0)
  })
}

function isPersonal(password: string, { email, name, publicUrl }: PasswordOwner): boolean {
  const host = publicUrl === undefined ? '' : new URL(publicUrl).hostname
  const [local = '', domain = ''] = email.split('@')
  const pieces = `${local} ${domain} ${name} ${host}`.split(/[^\p{L}\p{N}]+/u)
  const parts = [email, local, domain, name, host, publicUrl ?? '', SERVICE_NAME, ...pieces]
  const words = [...new Set(parts.map(plain))]
    .filter((word) => word.length >= MIN_PERSONAL_LENGTH)
    .toSorted((a, b) => b.length - a.length)
  const written = plain(password)
  const rest = words.reduce((text, word) => text.replaceAll(word, ''), written)
  return rest !== written && rest.replaceAll(/[^\p{L}]/gu, '').length < MIN_OWN_LETTERS
}

function isCommon(password: string): boolean {
  const lower = password.toLowerCase().replaceAll(/\s/g, '')
  const read = unmasked(lower)
  const candidates = [lower, read, ...[lower, read].map((text) => text.replaceAll(/^[^a-z]+|[^a-z]+$/g, ''))]
  return candidates.some((candidate) => guessablePasswords().has(candidate))
}

// Common passwords of 12 characters or more; scripts/guessable-passwords.mjs writes the list.
const FILE = new URL('../../../data/guessable-passwords.txt', import.meta.url)
let read: ReadonlySet<string> | undefined

/** Read on first use, because most commands check no password. */
function guessablePasswords(): ReadonlySet<string> {
  return (read ??= new Set(readFileSync(FILE, 'utf8').split('\n').filter(Boolean)))
}

/** `p@ssw0rd` as it is read. */
function unmasked(text: string): string {
  const masks = '@431!0$57'
  return text.replaceAll(/[@431!0$57]/g, (sign) => 'aaeiiosst'.charAt(masks.indexOf(sign)))
}

function plain(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
}
