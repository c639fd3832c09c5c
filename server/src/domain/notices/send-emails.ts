import { newUuid7 } from '../../base/ids.ts'
import { query, transact } from '../../db/tx.ts'
import type { Context } from '../context.ts'
import type { Core } from '../core/core.ts'
import { noticeEmail, type TellableNotice } from './notice-email.ts'
import { TOLD_ROLES } from './notice-kinds.ts'
import type { NoticeLanguage } from './notice-words.ts'
import { LAST_NUMBER } from './tell-notices.ts'

// E-mails with notices. That there is one is decided in a transaction that moves the person's position, so no notice is
// left out and none is in two. Sending follows, and is repeated until the mail server has taken it.

const MAKE_LIMIT = 100
// As many as there are connections to the mail server, so none waits in this process while its lease runs.
const CLAIM_LIMIT = 2
// Longer than all time-outs of the eight steps of SMTP together: no second process sends what this one still sends.
const LEASE_MS = 10 * 60_000
// Minutes after each failed attempt. After the last one the bell has to do.
const RETRY_AFTER_MINUTES = [1, 5, 15, 60, 240, 720]
// An e-mail is read, not studied: the dashboard has the rest.
const MAX_LISTED = 20

/** People whose time has come get an e-mail. Returns how many. */
export async function makeEmails(core: Core): Promise<number> {
  const now = core.now()
  return transact(core.pool, async (tx) => {
    const due = await tx.rows<{ name: string; position: number }>(
      `select name, position from followers where due_at <= $1 order by due_at limit $2 for update skip locked`,
      [now, MAKE_LIMIT],
    )
    if (due.length === 0) return 0
    await tx.run(
      `with due as (
         select * from unnest($1::text[], $2::bigint[], $3::uuid[]) as d (name, position, email_id)
       ), moved as (
         update followers f set due_at = null, moved_at = $4, position = ${LAST_NUMBER}
         from due d where f.name = d.name returning f.name, f.position as last
       )
       insert into notice_emails (id, user_id, after_number, last_number, created_at, due_at)
       select d.email_id, substring(d.name from 6)::uuid, d.position, m.last, $4, $4
       from due d join moved m using (name)`,
      [due.map(({ name }) => name), due.map(({ position }) => position), due.map(() => newUuid7(now)), now],
    )
    return due.length
  })
}

type Claimed = {
  id: string
  userId: string
  after: number
  last: number
  attempts: number
  email: string | null
  language: NoticeLanguage
}

const CLAIM = `
  update notice_emails e set due_at = $2, attempts = attempts + 1
  from (
    select m.id, u.email, p.language from notice_emails m
    left join users u on u.id = m.user_id left join notice_people p on p.user_id = m.user_id
    where m.due_at <= $1 order by m.due_at limit ${CLAIM_LIMIT} for update of m skip locked
  ) d
  where e.id = d.id
  returning e.id, e.user_id as "userId", e.after_number as after, e.last_number as last, e.attempts, d.email,
    coalesce(d.language, 'pt-BR') as language`

/** Sends what is due. Returns how many e-mails it tried. */
export async function sendEmails(ctx: Context): Promise<number> {
  const now = ctx.now()
  const claimed = await query<Claimed>(ctx.pool, CLAIM, [now, new Date(now.getTime() + LEASE_MS)])
  await Promise.all(claimed.map((email) => sendOne(ctx, email)))
  return claimed.length
}

async function sendOne(ctx: Context, claimed: Claimed): Promise<void> {
  const failure = await trySending(ctx, claimed)
  const retryMinutes = failure === null ? undefined : RETRY_AFTER_MINUTES[claimed.attempts - 1]
  const now = ctx.now()
  const dueAt = retryMinutes === undefined ? null : new Date(now.getTime() + retryMinutes * 60_000)
  const sentAt = failure === null ? now : null
  await query(
    ctx.pool,
    // An outcome that comes after the lease is not this attempt's to tell.
    'update notice_emails set due_at = $2, sent_at = $3, failure = $4 where id = $1 and attempts = $5',
    [claimed.id, dueAt, sentAt, failure, claimed.attempts],
  )
  if (failure === null) return
  const fields = { emailId: claimed.id, userId: claimed.userId, attempts: claimed.attempts, failure }
  if (dueAt === null) ctx.log.error(fields, 'an e-mail with notices was given up: the mail server did not take it')
  else ctx.log.warn({ ...fields, dueAt }, 'sending an e-mail with notices failed, and is tried again')
}

/** Null: sent, or there is nobody to send it to any more. */
async function trySending(ctx: Context, claimed: Claimed): Promise<string | null> {
  const { id, email: to, language } = claimed
  const notices = await readTellable(ctx, claimed)
  if (to === null || notices.length === 0) return null
  const { listed, count } = { listed: notices.slice(0, MAX_LISTED), count: notices.length }
  try {
    await ctx.mailer.deliver({
      id,
      to,
      ...noticeEmail({ publicUrl: ctx.settings.publicUrl, language, listed, count }),
    })
    return null
  } catch (error) {
    return error instanceof Error ? error.message.slice(0, 500) : 'unknown'
  }
}

// More than this is counted as so many.
const MAX_COUNTED = 10_000

/** Oldest first. Those of a person who left the account meanwhile are left out. */
function readTellable(ctx: Context, { userId, after, last }: Claimed): Promise<TellableNotice[]> {
  return query<TellableNotice>(
    ctx.pool,
    `select n.number, n.kind, n.what, n.over_at is not null as "isOver", n.data, n.happened_at as "happenedAt" from notices n
     where n.number > $2 and n.number <= $3 and (
       n.user_id = $1
       or n.user_id is null and exists (
         select from members m where m.user_id = $1 and m.account_id = n.account_id and m.removed_at is null
           and (n.kind, m.role) in (${TOLD_ROLES})
       )
       or n.user_id is null and n.account_id is null
         and exists (select from operators where user_id = $1 and disabled_at is null)
     ) and not exists (select from notice_choices where user_id = $1 and kind = n.kind)
     order by n.number limit ${MAX_COUNTED}`,
    [userId, after, last],
  )
}
