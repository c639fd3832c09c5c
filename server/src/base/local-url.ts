import { isIPv4 } from 'node:net'

/** Reached from this machine alone. */
export function isLocalUrl(url: string): boolean {
  const { hostname } = new URL(url)
  if (isIPv4(hostname)) return hostname.startsWith('127.')
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]'
}

/** Of URLs by name, those over which credentials, sessions and questions about money would cross a network in the clear. */
export function plainHttpNames(urls: [name: string, url: string][]): string[] {
  return urls.filter(([, url]) => new URL(url).protocol === 'http:' && !isLocalUrl(url)).map(([name]) => name)
}
