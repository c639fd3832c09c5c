import type { EnsureCodeBody, ListCodesQuery } from './api.ts'
import type { Call, CallOptions } from './http.ts'
import { pagesFrom, type Pages } from './pages.ts'
import type { Code } from './types.ts'

/** `externalId` is your own reference, such as that of a customer. */
export type WantedCode = EnsureCodeBody & { externalId: string }

export type Codes = {
  /**
   * Returns the lasting code of a reference, and makes it if there is none. What is given replaces what was there, and
   * a closed code is open again. Call it as often as you like, from any number of programs.
   */
  ensure(code: WantedCode, options?: CallOptions): Promise<Code>
  retrieve(externalId: string, options?: CallOptions): Promise<Code>
  /** Lists codes, newest first. */
  list(query?: ListCodesQuery, options?: CallOptions): Pages<Code>
  /** From now on payments of it are held. */
  close(externalId: string, options?: CallOptions): Promise<Code>
}

export function makeCodes(call: Call): Codes {
  return {
    ensure: async ({ externalId, ...body }, options) =>
      (await call('ensureCode', { path: { externalId }, body }, options)).code,
    retrieve: async (externalId, options) => (await call('getCode', { path: { externalId } }, options)).code,
    list: (query, options) =>
      pagesFrom(async (cursor) => {
        const { codes, nextCursor } = await call(
          'listCodes',
          { query: { ...query, ...(cursor && { cursor }) } },
          options,
        )
        return { items: codes, nextCursor }
      }),
    close: async (externalId, options) => (await call('closeCode', { path: { externalId } }, options)).code,
  }
}
