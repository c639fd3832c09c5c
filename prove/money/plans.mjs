// The faults of the bank: each alone, then together, then in waves.

/** A list is repeated while the phase lasts, and scenarios are spread over it. */
export const PLANS = {
  calm: {},
  drop: { dropNotifications: 0.7 },
  duplicate: { duplicateNotifications: 4 },
  delay: { delayNotificationsMs: 1_500 },
  reorder: { reorderNotifications: true },
  latency: { latencyMs: 400 },
  errors: { errorRate: 0.4 },
  garbage: { garbageRate: 0.4 },
  hang: { hangRate: 0.2 },
  lost: { loseAnswerRate: 0.4 },
  mixed: {
    dropNotifications: 0.3,
    duplicateNotifications: 2,
    delayNotificationsMs: 300,
    reorderNotifications: true,
    latencyMs: 50,
    errorRate: 0.12,
    garbageRate: 0.12,
    hangRate: 0.06,
    loseAnswerRate: 0.12,
  },
  waves: [
    { forMs: 3_000, loseAnswerRate: 0.8, dropNotifications: 1 },
    { forMs: 3_000, isUnreachable: true },
    { forMs: 3_000, errorRate: 1 },
    { forMs: 2_000 },
    { forMs: 1_500, duplicateNotifications: 3 },
    { forMs: 3_000, hangRate: 0.7, delayNotificationsMs: 2_000 },
    { forMs: 1_500, garbageRate: 0.8 },
  ],
}
