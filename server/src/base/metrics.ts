import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/**
 * Counters that are incremented as the service works, and gauges that are read for each scrape (http/metrics.ts).
 * Labels are names from the code or the configuration, never an id, so that there are few series.
 */
export type Metrics = ReturnType<typeof makeMetrics>

// From a lookup in memory to the longest deadline of a provider.
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15]

export function makeMetrics() {
  const registry = new Registry()
  const make = makersFor(registry)
  const read = makeRead(make)
  const forgetRead = () => Object.values(read).forEach(forget)
  forgetRead()
  return { registry, ...makeCounted(make), ...makeAlarms(make), ...makeOwn(make), ...read, forgetRead }
}

/** A gauge without labels has the value 0 after its reset, and 0 free bytes would be an alarm. */
function forget(gauge: Gauge): void {
  gauge.reset()
  const { labelNames } = gauge as unknown as { labelNames: string[] }
  if (labelNames.length === 0) gauge.remove()
}

/** Memory, CPU, event loop, garbage collection. Measures until the process ends, so only main.ts calls it. */
export function measureProcess({ registry }: Metrics): void {
  collectDefaultMetrics({ register: registry })
  // Gauges whose names promise a counter.
  for (const what of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${what}_total`)
}

/** Above zero, somebody changed the database, or it lost something. */
function makeAlarms({ counter }: Makers) {
  return {
    historiesBegun: counter(
      'guiche_histories_begun_total',
      'Histories that began because the database lacked positions that were known: events were lost.',
    ),
    alteredCodes: counter(
      'guiche_altered_codes_total',
      'Codes of charges that were altered in the database, and were asked for and not shown.',
    ),
  }
}

function makeCounted({ counter, timing }: Makers) {
  const webhookSeconds = timing(
    'guiche_webhook_attempt_duration_seconds',
    'Attempts to deliver an event: delivered, to be retried, failed for good, or refused for good (gone).',
    'outcome',
  )
  // Start at zero, so that the first event shows as an increase.
  for (const outcome of ['delivered', 'retry', 'failed', 'gone']) webhookSeconds.zero({ outcome })
  return {
    httpSeconds: timing('guiche_http_request_duration_seconds', 'Answers, by route.', 'method', 'route', 'status'),
    deposits: counter('guiche_deposits_total', 'Deposits that came to a state.', 'state'),
    payments: counter('guiche_payments_total', 'Payments that were booked: credited, or in suspense.', 'outcome'),
    paymentsDuplicate: counter(
      'guiche_payments_duplicate_total',
      'Reports of a payment that stands in the books under another provider, and was not booked again.',
      'provider',
    ),
    forwardedIgnored: counter(
      'guiche_forwarded_ignored_total',
      'Requests with X-Forwarded-For or Forwarded, which is not read without TRUST_PROXY.',
    ),
    apiRequestsUnrecorded: counter(
      'guiche_api_requests_unrecorded_total',
      'Requests that are not in the log of requests, because too many came at once or the database was away.',
    ),
    signIns: counter('guiche_sign_ins_total', 'Tries to sign in, second steps and sign-outs.', 'outcome'),
    exceptionsOpened: counter('guiche_exceptions_opened_total', 'Exceptions that were opened.', 'kind'),
    providerSeconds: timing(
      'guiche_provider_call_duration_seconds',
      'Calls to providers, each attempt by itself; withheld by breaker or budget: not sent.',
      'provider',
      'operation',
      'outcome',
    ),
    budgetWaitSeconds: counter(
      'guiche_provider_budget_wait_seconds_total',
      'Time that calls waited for their turn within a provider’s rate.',
      'provider',
    ),
    notifications: counter(
      'guiche_notifications_total',
      'Notifications of providers: accepted, or refused for a wrong secret, a wrong signature or a body that cannot be read.',
      'provider',
      'result',
    ),
    unread: counter(
      'guiche_provider_unread_total',
      'Entries of a provider’s list that could not be read and may be money.',
      'provider',
    ),
    webhookSeconds,
    laneBatches: counter('guiche_lane_batches_total', 'Transactions that gathered the work of callers.', 'lane'),
    laneItems: counter(
      'guiche_lane_items_total',
      'Items in them: divided by the transactions, the mean batch.',
      'lane',
    ),
  }
}

function makeOwn({ gauge }: Makers) {
  return {
    clockOffset: gauge(
      'guiche_clock_offset_seconds',
      'How far this process’s clock is ahead of the database’s; below zero is behind. Past 2 seconds either way its workers stop.',
    ),
    buildInfo: gauge('guiche_build_info', 'Always 1: the version that runs.', 'version', 'node'),
    inFlight: gauge('guiche_http_requests_in_flight', 'Requests that are being answered.'),
    connections: gauge(
      'guiche_database_connections',
      'Connections of the pool, and callers who wait for one.',
      'state',
    ),
    poolSize: gauge('guiche_database_pool_size', 'Connections that the pool may open.'),
    breaker: gauge('guiche_provider_breaker', '1 for the state that the breaker is in.', 'provider', 'state'),
    providerUp: gauge('guiche_provider_up', '1 while the breaker is closed. A half-open one is not up.', 'provider'),
    providerSuccess: gauge(
      'guiche_provider_last_success_timestamp_seconds',
      'When a call last succeeded; 0 if none has since the start.',
      'provider',
    ),
    certificateExpires: gauge(
      'guiche_provider_certificate_expires_timestamp_seconds',
      'When the client certificate for the provider expires; absent without one.',
      'provider',
    ),
    purgeFailing: gauge(
      'guiche_purge_failing',
      '1 if this process could not delete old rows of this kind when it last tried, every ten minutes.',
      'step',
    ),
    workerRound: gauge(
      'guiche_worker_last_round_timestamp_seconds',
      'When a worker of this process last ended a round without a failure; before the first one, when it began.',
      'worker',
    ),
    reconcileInterval: gauge(
      'guiche_reconcile_interval_seconds',
      'RECONCILE_SECONDS: how often the lists of providers are read; 0 is never.',
    ),
    databaseUp: gauge('guiche_database_up', '0 if this process got no answer from the database for this scrape.'),
  }
}

/** Read from the database, so the same for all processes. Absent while it cannot be read. */
function makeRead({ gauge }: Makers) {
  return {
    exceptionsOpen: gauge('guiche_exceptions_open', 'Exceptions that are not resolved.', 'kind'),
    ledger: gauge('guiche_ledger_cents', 'What a ledger account holds; missing is below zero.', 'account'),
    sweepAge: gauge(
      'guiche_sweep_age_seconds',
      'How long ago the provider’s list was read up to; below zero is a cursor in the future.',
      'provider',
    ),
    closedUntil: gauge('guiche_closed_until_timestamp_seconds', 'The end of the last day that was closed.', 'provider'),
    closingDifferences: gauge('guiche_closing_differences', 'Differences of the last day that was closed.', 'provider'),
    lastNotification: gauge(
      'guiche_notification_last_timestamp_seconds',
      'When the provider last notified us; 0 if it never has.',
      'provider',
    ),
    unnotifiedPayments: gauge(
      'guiche_payments_since_last_notification',
      'Payments that arrived since the provider last notified us, counted up to 1000. More than a few: notifications do not reach us.',
      'provider',
    ),
    queueDue: gauge(
      'guiche_queue_due',
      'What is due, counted up to 10000. Deliveries to webhooks that fail are counted apart, as failing_deliveries.',
      'queue',
    ),
    queueAge: gauge(
      'guiche_queue_oldest_due_seconds',
      'How long the oldest of it has been due, without deliveries to webhooks that fail.',
      'queue',
    ),
    webhooks: gauge('guiche_webhooks', 'Webhooks of all accounts.', 'state'),
    databaseWritable: gauge(
      'guiche_database_writable',
      '0 if the database answers and stores nothing: read-only, in recovery, or without room on its disk.',
    ),
    databaseBytes: gauge('guiche_database_bytes', 'Size of the database.'),
    replicationLag: gauge(
      'guiche_replication_lag_seconds',
      'How far the slowest standby is behind. Absent without a standby, or without the role pg_monitor.',
    ),
    diskFree: gauge(
      'guiche_disk_free_bytes',
      'Free space on the disk of the embedded database. Absent with DATABASE_URL.',
    ),
    lastBackup: gauge(
      'guiche_backup_last_timestamp_seconds',
      'When the newest backup ended. Without any it is 0, and absent with DATABASE_URL.',
    ),
  }
}

type Makers = ReturnType<typeof makersFor>

function makersFor(registry: Registry) {
  const registers = [registry]
  return {
    counter: <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter<Label>({ name, help, labelNames, registers }),
    gauge: <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Gauge<Label>({ name, help, labelNames, registers }),
    timing: <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Histogram<Label>({ name, help, labelNames, registers, buckets: SECONDS }),
  }
}
