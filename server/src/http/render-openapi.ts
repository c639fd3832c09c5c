import type { Context } from '../domain/context.ts'
import { buildApp } from './app.ts'

/** The document as server/openapi.json keeps it. Needs no database: no route is called. */
export async function renderOpenapi(): Promise<string> {
  const rateLimit = { perSecond: 0, burst: 0 }
  const stub = { settings: { publicUrl: '', rateLimit, publicRateLimit: rateLimit } } as unknown as Context
  const app = await buildApp(stub)
  await app.ready()
  const text = JSON.stringify(app.swagger(), null, 2)
  await app.close()
  return text
}
