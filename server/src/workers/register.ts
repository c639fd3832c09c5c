import type { Context } from '../domain/context.ts'
import type { Provider } from '../domain/ports/provider.ts'
import { joinLoops, startLoop, type Loop } from './loop.ts'

const RETRY_MS = 10_000
// Repeated, because a provider may lose the registration or another deployment may replace it.
const AGAIN_MS = 10 * 60_000

/**
 * Registers the URL for notifications with each provider. Without notifications payments are still found, only later:
 * by queries, expiry checks and reconciliation.
 */
export function startRegistration(ctx: Context, baseUrl: (provider: string) => string): Loop {
  return joinLoops(ctx.providers.map((provider) => registerOne(ctx, provider, baseUrl(provider.name))))
}

function registerOne(ctx: Context, provider: Provider, baseUrl: string): Loop {
  const url = `${baseUrl}/callbacks/${provider.name}/${ctx.settings.callbackSecrets(provider.name)[0]}`
  let nextAtMs = 0
  let isStopping = false
  const loop = startLoop(ctx, {
    name: `register ${provider.name}`,
    idleMs: RETRY_MS,
    async round() {
      if (ctx.now().getTime() < nextAtMs) return 'idle'
      try {
        await provider.registerNotifications(url)
        nextAtMs = ctx.now().getTime() + AGAIN_MS
      } catch (error) {
        if (!isStopping)
          ctx.log.warn({ err: error, provider: provider.name }, 'registering the notification URL failed')
      }
      return 'idle'
    },
  })
  return {
    wake: loop.wake,
    // A registration under way is repeated at the next start. A stop does not wait for it.
    async stop() {
      isStopping = true
      void loop.stop()
    },
  }
}
