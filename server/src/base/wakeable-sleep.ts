/** A sleep that another caller may end early. */
export type WakeableSleep = {
  sleep(ms: number): Promise<void>
  wake(): void
}

export function makeWakeableSleep(): WakeableSleep {
  let wake = () => {}
  return {
    sleep: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      }),
    wake: () => wake(),
  }
}
