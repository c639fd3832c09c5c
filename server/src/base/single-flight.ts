/**
 * Lets many callers who ask the same question share answers, without ever giving one an answer that was asked for before they
 * came: a caller who arrives while a call is in flight waits for the next one, which everyone else who arrives meanwhile shares.
 * So a key has one call in flight and at most one behind it, however many ask.
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
