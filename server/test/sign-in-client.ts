import { createHmac } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import type { App } from '../src/http/app.ts'
import type { World } from './world.ts'

// A browser in which somebody signs in: it keeps cookies, and says where it comes from.

export const PASSWORD = 'correct horse battery'

export type Browser = {
  cookies: Map<string, string>
  get(path: string): Promise<LightMyRequestResponse>
  post(path: string, payload?: object, headers?: Record<string, string>): Promise<LightMyRequestResponse>
  signIn(email: string, password?: string): Promise<LightMyRequestResponse>
  /** Who the service thinks this is. */
  me(): Promise<{ email: string; isFresh: boolean; isTwoFactor: boolean } | null>
}

/** A browser that uses the dashboard's API. Paths are those under /dashboard/api. */
export function openBrowser(w: Pick<World, 'app'> | { app: App }, address = '127.0.0.1'): Browser {
  const cookies = new Map<string, string>()
  const send = async (method: 'GET' | 'POST', path: string, payload?: object, more: Record<string, string> = {}) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { origin: 'https://guiche.example', ...(cookie && { cookie }), ...more }
    const url = `/dashboard/api/${path}`
    const answer = await w.app.inject({ method, url, headers, remoteAddress: address, ...(payload && { payload }) })
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      if (/Max-Age=0/.test(line)) cookies.delete(name!)
      else cookies.set(name!, value!)
    }
    return answer
  }
  const post: Browser['post'] = (path, payload = {}, headers) => send('POST', path, payload, headers)
  return {
    cookies,
    get: (path) => send('GET', path),
    post,
    signIn: (email, password = PASSWORD) => post('auth/sign-in/email', { email, password }),
    me: async () => (await send('GET', 'me')).json().me,
  }
}

/** The code after the current one. Each code works once, and the next one is already accepted. */
export function nextTotpOf(uri: string): string {
  return totpOf(uri, Date.now() + 30_000)
}

/** What an authenticator app shows for the secret in this address. */
export function totpOf(uri: string, atMs = Date.now()): string {
  const secret = base32(new URL(uri).searchParams.get('secret')!)
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(atMs / 30_000)))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const number = mac.readUInt32BE(mac.at(-1)! & 0xf) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

function base32(text: string): Buffer {
  const bits = Array.from(text.replaceAll('=', ''))
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
    .join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)))
}
