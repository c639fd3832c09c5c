// Loaded before the service by --import: its clock runs ahead by as much as PROVE_LATER_MS says, so that hours can pass between a crash and the
// next start. Timers are left alone. database-clock.mjs moves the database's clock by as much: the service does not start while the two differ.

const laterMs = Number(process.env.PROVE_LATER_MS ?? 0)
const RealDate = Date

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args) => (args.length === 0 ? new target(RealDate.now() + laterMs) : new target(...args)),
  get: (target, name) => (name === 'now' ? () => RealDate.now() + laterMs : Reflect.get(target, name)),
})
