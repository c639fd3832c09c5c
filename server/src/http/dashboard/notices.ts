import { z } from 'zod'
import { OPERATOR_SCOPE, type Scope } from '../../domain/accounts/callers.ts'
import type { Session } from '../../domain/accounts/sessions.ts'
import type { Core } from '../../domain/core/core.ts'
import {
  EMAIL_LANGUAGES,
  listNotices,
  markSeen,
  readChoices,
  writeChoices,
  type NoticeReader,
} from '../../domain/notices/list-notices.ts'
import { NOTICE_KIND_NAMES } from '../../domain/notices/notice-kinds.ts'
import { NOTICE_LANGUAGES } from '../../domain/notices/notice-words.ts'
import { BODY_ERROR, nextCursor, oneOf, paging, response, time, toApi, type Api } from '../server/schemas.ts'

/** The bell of the dashboard, and what each person wants by e-mail. */
export function noticeRoutes(api: Api, core: Core): void {
  routesOf(api, core, '/api', 'deposits:read')
  routesOf(api, core, '/api/operator', OPERATOR_SCOPE)
}

function routesOf(api: Api, core: Core, prefix: string, scope: Scope | typeof OPERATOR_SCOPE): void {
  const reading = { scope }
  // Whoever sits down at an open browser cannot silence what tells of them.
  const choosing = { scope, fresh: true }

  api.get(`${prefix}/notices`, { schema: listRoute, config: reading }, async ({ session, query }) => {
    const { notices, ...page } = await listNotices(core, readerOf(session), query)
    return { success: true as const, notices: notices.map(toApi), ...page }
  })

  api.post(
    `${prefix}/notices/seen`,
    { schema: seenRoute, config: { scope, fresh: false } },
    async ({ session, body }) => {
      await markSeen(core, session.userId, body.number)
      return { success: true as const }
    },
  )

  api.get(`${prefix}/notices/choices`, { schema: choicesRoute, config: reading }, async ({ session, query }) => ({
    success: true as const,
    ...(await readChoices(core, readerOf(session), query.language)),
  }))

  api.put(`${prefix}/notices/choices`, { schema: chooseRoute, config: choosing }, async ({ session, body }) => {
    await writeChoices(core, session.userId, body)
    return { success: true as const, ...(await readChoices(core, readerOf(session), body.language)) }
  })
}

function readerOf({ userId, caller }: Session): NoticeReader {
  if (caller.kind === 'operator') return { userId, accountId: null, may: () => true }
  return { userId, accountId: caller.accountId, may: (scope) => caller.scopes.some((held) => held === scope) }
}

const language = oneOf('language', NOTICE_LANGUAGES)
const emailLanguage = oneOf('emailLanguage', EMAIL_LANGUAGES)
const kind = z.enum(NOTICE_KIND_NAMES)

const noticeSchema = z.object({
  number: z.int(),
  kind,
  what: z.enum(['news', 'began', 'ended']),
  text: z.string(),
  path: z.string(),
  happenedAt: time,
  isSeen: z.boolean(),
})

const listRoute = {
  querystring: z.object({ language, ...paging }),
  response: { 200: response('', { notices: noticeSchema.array(), unseen: z.int(), nextCursor }) },
}

const NUMBER_ERROR = 'number must be that of a notice'
const seenRoute = {
  body: z.object({ number: z.int({ error: NUMBER_ERROR }).min(0, { error: NUMBER_ERROR }) }, { error: BODY_ERROR }),
  response: { 200: response('', {}) },
}

const choicesAnswer = response('', {
  choices: z.object({ kind, name: z.string(), byEmail: z.boolean() }).array(),
  emailLanguage,
})

const choicesRoute = { querystring: z.object({ language }), response: { 200: choicesAnswer } }

const OFF_ERROR = `off must list kinds of notices: ${NOTICE_KIND_NAMES.join(', ')}`
const chooseRoute = {
  body: z.object(
    {
      off: z
        .array(z.enum(NOTICE_KIND_NAMES, { error: OFF_ERROR }), { error: OFF_ERROR })
        .max(NOTICE_KIND_NAMES.length, { error: OFF_ERROR })
        .transform((kinds) => [...new Set(kinds)]),
      language,
      emailLanguage,
    },
    { error: BODY_ERROR },
  ),
  response: { 200: choicesAnswer },
}
