import type { Context } from '../domain/context.ts'
import type { Provider } from '../domain/ports/provider.ts'
import { startLoop, type Loop } from './loop.ts'

const RETRY_MS = 10_000
// Registered again now and then: a provider that lost it, or a second house that took it over, is found out.
const AGAIN_MS = 10 * 60_000

/** Tells each provider where to send its notifications. The service works without, only later: queries and expiry ask by themselves. */
export function startRegistration(ctx: Context, baseUrl: (provider: string) => string): Loop {
  const loops = ctx.providers.map((provider) => registerOne(ctx, provider, baseUrl(provider.name)))
  return {
    wake: () => loops.forEach((loop) => loop.wake()),
    stop: async () => {
      await Promise.all(loops.map((loop) => loop.stop()))
    },
  }
}

function registerOne(ctx: Context, provider: Provider, baseUrl: string): Loop {
  const url = `${baseUrl}/callbacks/${provider.name}/${ctx.settings.callbackSecrets(provider.name)[0]}`
  let nextAtMs = 0
  return startLoop(ctx, {
    name: `register ${provider.name}`,
    idleMs: RETRY_MS,
    async round() {
      if (ctx.now().getTime() < nextAtMs) return 'idle'
      try {
        await provider.registerNotifications(url)
        nextAtMs = ctx.now().getTime() + AGAIN_MS
      } catch (error) {
        ctx.log.warn({ err: error, provider: provider.name }, 'the provider did not take our address for notifications')
      }
      return 'idle'
    },
  })
}
