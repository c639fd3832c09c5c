/**
 * Callers with the same key share calls, but never one that began before they came: those wait for the next call. So
 * each key has one call in flight and at most one waiting.
 */
export type SingleFlight<Result> = (key: string, call: () => Promise<Result>) => Promise<Result>

type Flight<Result> = { current: Promise<Result>; next: Promise<Result> | undefined }

export function makeSingleFlight<Result>(): SingleFlight<Result> {
  const flights = new Map<string, Flight<Result>>()

  function launch(key: string, call: () => Promise<Result>): Promise<Result> {
    const current = call()
    const flight: Flight<Result> = { current, next: undefined }
    flights.set(key, flight)
    const land = () => {
      if (flights.get(key) === flight && !flight.next) flights.delete(key)
    }
    current.then(land, land)
    return current
  }

  return (key, call) => {
    const flight = flights.get(key)
    if (!flight) return launch(key, call)
    flight.next ??= flight.current.then(
      () => launch(key, call),
      () => launch(key, call),
    )
    return flight.next
  }
}
