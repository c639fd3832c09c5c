// What "in order" means, for the health page. A bound with the name of an alert is the one of that alert in
// deploy/prometheus/alerts.yaml; health.test.ts compares them. What pages is red, and what waits for the morning is
// yellow.

export const HEALTH_LEVELS = ['green', 'yellow', 'red'] as const
export type HealthLevel = (typeof HEALTH_LEVELS)[number]

export const HEALTH_AREAS = ['money', 'providers', 'queues', 'workers', 'database', 'history', 'processes'] as const
export type HealthArea = (typeof HEALTH_AREAS)[number]

export const HEALTH_UNITS = ['count', 'cents', 'seconds', 'bytes', 'share', 'state'] as const
export type HealthUnit = (typeof HEALTH_UNITS)[number]

/** Worse is `over` the bound, or `under` it. Without either, the bound depends on other figures. */
export type Bound = { level: 'yellow' | 'red'; over?: number; under?: number; alert?: string }

type Check = { area: HealthArea; unit: HealthUnit; bounds: readonly Bound[] }

const MINUTE = 60
const HOUR = 3_600
const DAY = 86_400

const check = (area: HealthArea, unit: HealthUnit, ...bounds: Bound[]): Check => ({ area, unit, bounds })

export const HEALTH_CHECKS = {
  money_missing: check('money', 'cents', { level: 'red', under: 0, alert: 'GuicheMoneyMissing' }),
  // The age of the oldest.
  exceptions_open: check('money', 'seconds', { level: 'yellow', over: HOUR, alert: 'GuicheExceptionsWait' }),
  closing_differences: check('money', 'count', { level: 'red', over: 0, alert: 'GuicheClosingDiffers' }),
  closing_age: check('money', 'seconds', { level: 'yellow', over: 36 * HOUR, alert: 'GuicheDayNotClosed' }),

  // Processes whose breaker is not closed. Red: all of them.
  provider_breaker: check(
    'providers',
    'count',
    { level: 'red', alert: 'GuicheProviderDown' },
    { level: 'yellow', over: 0, alert: 'GuicheBreakerOpen' },
  ),
  // The age of the last call that succeeded, if a call failed since.
  provider_success: check('providers', 'seconds', { level: 'red', over: 5 * MINUTE, alert: 'GuicheProviderNoSuccess' }),
  provider_errors: check('providers', 'share'),
  provider_latency: check('providers', 'seconds'),
  provider_certificate: check(
    'providers',
    'seconds',
    { level: 'red', under: 7 * DAY, alert: 'GuicheCertificateExpiresSoon' },
    { level: 'yellow', under: 30 * DAY, alert: 'GuicheCertificateExpires' },
  ),
  list_read: check(
    'providers',
    'seconds',
    { level: 'red', alert: 'GuicheReconciliationBehind' },
    { level: 'red', under: -MINUTE, alert: 'GuicheReconciliationAhead' },
  ),
  notifications_missing: check('providers', 'count', { level: 'yellow', over: 2, alert: 'GuicheNotificationsMissing' }),

  // The age of the oldest that is due.
  queue: check('queues', 'seconds', { level: 'red', over: 5 * MINUTE, alert: 'GuicheQueueLate' }),
  refunds_in_doubt: check('queues', 'seconds', { level: 'yellow', over: HOUR }),
  // Yellow: more than two, or all of them.
  webhooks_failing: check('queues', 'count', { level: 'yellow', alert: 'GuicheWebhooksFail' }),

  workers: check('workers', 'state', { level: 'red', under: 1 }),
  worker_round: check('workers', 'seconds', { level: 'red', over: 15 * MINUTE, alert: 'GuicheWorkerStopped' }),
  purge_failing: check('workers', 'seconds', { level: 'yellow', over: HOUR, alert: 'GuichePurgeFails' }),

  database_answers: check('database', 'state', { level: 'red', under: 1, alert: 'GuicheDatabaseDown' }),
  database_writable: check('database', 'state', { level: 'red', under: 1, alert: 'GuicheDatabaseReadOnly' }),
  pool_waiting: check('database', 'count', { level: 'yellow', over: 0, alert: 'GuichePoolExhausted' }),
  oldest_transaction: check('database', 'seconds', { level: 'yellow', over: 5 * MINUTE }),
  replication_lag: check('database', 'seconds', { level: 'yellow', over: MINUTE, alert: 'GuicheReplicationLags' }),
  database_size: check('database', 'bytes'),
  disk_free: check('database', 'bytes', { level: 'red', under: 1e9, alert: 'GuicheDiskAlmostFull' }),
  backup_age: check('database', 'seconds', { level: 'yellow', over: 36 * HOUR, alert: 'GuicheBackupOld' }),

  // How long leaves have waited for a signed head, or a signed head for its witness.
  head_unsigned: check('history', 'seconds', { level: 'yellow', over: 5 * MINUTE }),
  head_unwitnessed: check('history', 'seconds', { level: 'yellow', over: HOUR }),

  processes: check('processes', 'count'),
  clock_offset: check('processes', 'seconds', { level: 'red', over: 1, alert: 'GuicheClockWrong' }),
  // Since when two versions run.
  versions: check('processes', 'seconds', { level: 'yellow', over: HOUR, alert: 'GuicheVersionsDiffer' }),
} as const satisfies Record<string, Check>

export type HealthCheck = keyof typeof HEALTH_CHECKS
export const HEALTH_CHECK_NAMES = Object.keys(HEALTH_CHECKS) as HealthCheck[]

export type HealthLine = {
  check: HealthCheck
  /** A provider, a queue, a worker; null if there is only one such line. */
  subject: string | null
  level: HealthLevel
  /** Null if nothing is known of it. */
  value: number | null
  /** The bound that is passed, or the first one. */
  bound: number | null
  /** How many, where the value is the age of the oldest. */
  count: number | null
  /** Of the bound. */
  alert: string | null
  /** What is known besides, such as the last error of a provider. */
  detail: string | null
}

type Given = {
  subject?: string
  count?: number
  detail?: string | null
  /** Bounds that depend on other figures, by level. */
  over?: Partial<Record<HealthLevel, number>>
  /** What a line is of which nothing is known. */
  unknown?: HealthLevel
  /** The value is for information: something else says that all is well. */
  isFine?: boolean
}

export function healthLine(name: HealthCheck, value: number | null, given: Given = {}): HealthLine {
  const { subject = null, count = null, detail = null, over = {}, unknown = 'green', isFine = false } = given
  const bounds = HEALTH_CHECKS[name].bounds.map((bound: Bound) => {
    return over[bound.level] === undefined ? bound : { ...bound, over: over[bound.level] }
  })
  const passed = value === null || isFine ? undefined : bounds.find((bound) => isWorse(value, bound))
  const shown = passed ?? bounds[0]
  return {
    check: name,
    subject,
    level: value === null ? unknown : (passed?.level ?? 'green'),
    value,
    bound: shown?.over ?? shown?.under ?? null,
    count,
    alert: shown?.alert ?? null,
    detail,
  }
}

function isWorse(value: number, { over, under }: { over?: number | undefined; under?: number | undefined }): boolean {
  return (over !== undefined && value > over) || (under !== undefined && value < under)
}

export function worstOf(lines: readonly { level: HealthLevel }[]): HealthLevel {
  const worst = Math.max(0, ...lines.map(({ level }) => HEALTH_LEVELS.indexOf(level)))
  return HEALTH_LEVELS[worst]!
}
