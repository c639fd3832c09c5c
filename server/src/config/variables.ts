import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { OperatorError } from '../base/operator-error.ts'

// An empty value counts as unset, as shells and containers leave blanks.

export type Env = Record<string, string | undefined>

export function refusal(name: string, text: string): OperatorError {
  return new OperatorError(`${name} ${text}`)
}

export function text(env: Env, name: string, fallback?: string): string {
  const value = env[name] || fallback
  if (value === undefined) throw refusal(name, 'must be set')
  return value
}

/**
 * The variable, or the content of the file that NAME_FILE names: child processes and `docker inspect` show the
 * environment.
 */
export function secret(env: Env, name: string): string | undefined {
  const value = env[name]
  const fileName = `${name}_FILE`
  const path = env[fileName]
  if (!path) return value || undefined
  if (value) throw refusal(fileName, `and ${name} exclude each other: set one`)
  const content = file(fileName, path)
    .toString()
    .replace(/[\r\n]+$/, '')
  if (content === '') throw refusal(fileName, `must name a file that holds the secret: ${path} is empty`)
  return content
}

export function secretText(env: Env, name: string, fallback?: string): string {
  return text({ [name]: secret(env, name) }, name, fallback)
}

export function integer(env: Env, name: string, fallback: number, range: { min: number; max: number }): number {
  const value = env[name]
  if (!value) return fallback
  const parsed = /^-?\d{1,15}$/.test(value) ? Number(value) : Number.NaN
  if (Number.isNaN(parsed) || parsed < range.min || parsed > range.max) {
    throw refusal(name, `must be a whole number from ${range.min} to ${range.max}, not ${JSON.stringify(value)}`)
  }
  return parsed
}

export function oneOf<Choice extends string>(env: Env, name: string, choices: Choice[], fallback?: Choice): Choice {
  const value = env[name] || fallback
  const choice = choices.find((candidate) => candidate === value)
  const wanted = `must be ${choices.length > 1 ? 'one of ' : ''}${choices.join(', ')}`
  if (!choice) throw refusal(name, value === undefined ? wanted : `${wanted}, not ${JSON.stringify(value)}`)
  return choice
}

export function flag(env: Env, name: string): boolean {
  return oneOf(env, name, ['true', 'false'], 'false') === 'true'
}

export function url(env: Env, name: string, fallback?: string): string {
  const value = text(env, name, fallback)
  const parsed = z.url({ protocol: /^https?$/ }).safeParse(value)
  if (!parsed.success) throw refusal(name, `must be an http or https URL, not ${JSON.stringify(value)}`)
  return value.replace(/\/+$/, '')
}

/** Our own paths begin at the root of the host. */
export function origin(env: Env, name: string, fallback?: string): string {
  const value = url(env, name, fallback)
  const { pathname, search, hash } = new URL(value)
  if (pathname !== '/' || search || hash)
    throw refusal(
      name,
      `must be a scheme and a host without a path, such as https://pay.example.com, not ${JSON.stringify(value)}`,
    )
  return value
}

export function file(name: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw refusal(name, `must be the path of a file that can be read: ${(error as Error).message}`)
  }
}
