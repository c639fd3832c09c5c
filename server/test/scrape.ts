import { expect } from 'vitest'
import { get } from './requests.ts'
import type { World } from './world.ts'

// Prometheus asks for /metrics with a credential, and so do these functions.

export async function scrapeText({ app }: Pick<World, 'app'>, credential: string): Promise<string> {
  const answer = await app.inject(get(credential, '/metrics'))
  expect(answer.statusCode).toBe(200)
  return answer.body
}

/** The values, by name and labels as they are written. */
export async function scrape(w: Pick<World, 'app'>, credential: string): Promise<Record<string, number>> {
  const lines = (await scrapeText(w, credential)).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}
