/** How the domain reaches a worker of this process, which may be running or not. */
export type WorkerSlot<Calls> = {
  current(): Calls
  /** For the worker when it starts. Returns what it calls when it stops. */
  attach(calls: Calls): () => void
}

export function makeWorkerSlot<Calls>(idle: Calls): WorkerSlot<Calls> {
  let current = idle
  return {
    current: () => current,
    attach(calls) {
      current = calls
      return () => {
        // A new worker may have started before the old one stopped.
        if (current === calls) current = idle
      }
    },
  }
}
