import type { Operations } from './api.ts'
import type { Call, CallOptions } from './http.ts'

export type Balance = {
  /** The balance now, in cents. */
  get(options?: CallOptions): Promise<Operations['getBalance']['answer']>
}

export function makeBalance(call: Call): Balance {
  return { get: (options) => call('getBalance', {}, options) }
}
