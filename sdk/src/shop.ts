import type { Operations } from './api.ts'
import type { Call, CallOptions } from './http.ts'

export type ShopOfAccount = {
  /** How the account shows itself to payers, and the defaults of its deposits. People change it in the dashboard. */
  get(options?: CallOptions): Promise<Operations['getShop']['answer']['shop']>
}

export function makeShop(call: Call): ShopOfAccount {
  return { get: async (options) => (await call('getShop', {}, options)).shop }
}
