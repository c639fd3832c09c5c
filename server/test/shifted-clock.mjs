// This is loaded into a process before anything else. It sets the wall clock SHIFT_MS ahead: from the start or, with
// SHIFT_LATER, from SIGWINCH on. Another SIGWINCH sets it right again. The monotonic clock stays as it is, as when an
// administrator sets the time.

const RealDate = Date
const shiftMs = Number(process.env.SHIFT_MS)
let aheadMs = process.env.SHIFT_LATER ? 0 : shiftMs
process.on('SIGWINCH', () => (aheadMs = aheadMs === 0 ? shiftMs : 0))

globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + aheadMs)
    else super(...given)
  }
  static now() {
    return RealDate.now() + aheadMs
  }
}
