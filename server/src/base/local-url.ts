import { isIPv4 } from 'node:net'

export function isLocalUrl(url: string): boolean {
  return isLocalHost(new URL(url).hostname)
}

export function isLocalHost(host: string): boolean {
  if (isIPv4(host)) return host.startsWith('127.')
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || host === '[::1]'
}

/** The names of URLs that would send credentials and sessions over a network unencrypted. */
export function plainHttpNames(urls: [name: string, url: string][]): string[] {
  return urls.filter(([, url]) => new URL(url).protocol === 'http:' && !isLocalUrl(url)).map(([name]) => name)
}
