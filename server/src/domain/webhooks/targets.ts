import { query } from '../../db/tx.ts'
import type { Core } from '../core/core.ts'
import { signingKey, type SigningKey } from './signature.ts'

/** Where a webhook's deliveries go, and how they are signed, as it was when they were claimed. */
export type WebhookTarget = {
  url: string
  /** Empty if the secrets cannot be opened. */
  keys: SigningKey[]
  authorization: string | null
  isDisabled: boolean
}

export async function readTargets(core: Core, webhookIds: string[]): Promise<Map<string, WebhookTarget>> {
  return targetsFromRows(core, await query<TargetRow>(core.pool, READ_TARGETS, [webhookIds, core.now()]))
}

const READ_TARGETS = targetsSql('$1', '$2')

/** The columns of TargetRow. `ids` and `now` are SQL. */
export function targetsSql(ids: string, now: string): string {
  return `select id, url, secret_box, authorization_box, disabled_at is not null as is_disabled,
      case when previous_secret_until > ${now} then previous_secret_box end as previous_secret_box
    from webhooks where id = any(${ids})`
}

export type TargetRow = {
  id: string
  url: string
  secret_box: string
  previous_secret_box: string | null
  authorization_box: string | null
  is_disabled: boolean
}

export function targetsFromRows(core: Core, rows: TargetRow[]): Map<string, WebhookTarget> {
  return new Map(rows.map((row) => [row.id, targetFromRow(core, row)]))
}

/** Without secrets if they cannot be opened: then only the deliveries of this webhook fail. */
function targetFromRow(core: Core, row: TargetRow): WebhookTarget {
  const opened = (box: string | null): string[] => {
    if (box === null) return []
    try {
      return [core.settings.secretBox.open(box, row.id)]
    } catch (error) {
      core.log.error({ err: error, webhookId: row.id }, 'the secret of a webhook cannot be opened: check SECRET_KEY')
      return []
    }
  }
  const [authorization = null] = opened(row.authorization_box)
  const isWhole = (authorization !== null) === (row.authorization_box !== null)
  return {
    url: row.url,
    // During a rotation one of the two is enough: receivers accept either.
    keys: isWhole ? [row.secret_box, row.previous_secret_box].flatMap(opened).map(signingKey) : [],
    authorization,
    isDisabled: row.is_disabled,
  }
}
