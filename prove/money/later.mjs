// Loaded by --import before the service: sets its clock ahead by PROVE_LATER_MS, so that hours can pass between a crash
// and the next start. Timers do not change. database-clock.mjs sets the database's clock ahead by as much, because the
// service does not start while the two differ.

const laterMs = Number(process.env.PROVE_LATER_MS ?? 0)
const RealDate = Date

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args) => (args.length === 0 ? new target(RealDate.now() + laterMs) : new target(...args)),
  get: (target, name) => (name === 'now' ? () => RealDate.now() + laterMs : Reflect.get(target, name)),
})
