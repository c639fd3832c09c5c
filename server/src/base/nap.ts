/** A pause that somebody may end early. One at a time. */
export type Nap = {
  take(ms: number): Promise<void>
  end(): void
}

export function makeNap(): Nap {
  let end = () => {}
  return {
    take: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms)
        end = () => {
          clearTimeout(timer)
          resolve()
        }
      }),
    end: () => end(),
  }
}
