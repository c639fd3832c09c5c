export type Page<Item> = {
  items: Item[]
  /** Give it as `cursor` to get the next page. Null on the last page. */
  nextCursor: string | null
}

/**
 * `for await` goes through all items, page by page as they are needed. `page()` asks for a single page, such as the one
 * that a screen shows.
 */
export type Pages<Item> = AsyncIterable<Item> & { page(): Promise<Page<Item>> }

export function pagesFrom<Item>(read: (cursor: string | undefined) => Promise<Page<Item>>): Pages<Item> {
  return {
    page: () => read(undefined),
    async *[Symbol.asyncIterator]() {
      let cursor: string | null | undefined
      do {
        const page = await read(cursor ?? undefined)
        yield* page.items
        cursor = page.nextCursor
      } while (cursor !== null)
    },
  }
}
