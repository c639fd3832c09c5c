import { isIPv4 } from 'node:net'

/** Only reachable from this machine. */
export function isLocalUrl(url: string): boolean {
  const { hostname } = new URL(url)
  if (isIPv4(hostname)) return hostname.startsWith('127.')
  return hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === '[::1]'
}

/** The names of URLs that would send credentials and sessions over a network unencrypted. */
export function plainHttpNames(urls: [name: string, url: string][]): string[] {
  return urls.filter(([, url]) => new URL(url).protocol === 'http:' && !isLocalUrl(url)).map(([name]) => name)
}
