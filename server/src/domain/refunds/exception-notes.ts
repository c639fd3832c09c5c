import { Fault, invalidField } from '../../base/fault.ts'
import { newUuid7 } from '../../base/ids.ts'
import { isReadable, READABLE_RULE } from '../../base/readable-text.ts'
import { query, transact } from '../../db/tx.ts'
import { writeAudit, type Actor } from '../core/audit-log.ts'
import type { Core } from '../core/core.ts'
import { findException } from './exceptions.ts'

// What operators write about an exception while they find out what to do. The constraints repeat both bounds.
export const MAX_NOTE_LENGTH = 1_000
export const NOTE_RULE = `text must be 1 to ${MAX_NOTE_LENGTH} characters, ${READABLE_RULE}`
const MAX_NOTES = 100

export type ExceptionNote = { number: number; text: string; notedAt: Date; by: Actor }

const COLUMNS = `n.number, n.text, n.noted_at as "notedAt",
  json_build_object('kind', n.noted_by_kind, 'name', n.noted_by) as by`

/** Oldest first. */
export function listNotes(core: Core, exceptionId: string): Promise<ExceptionNote[]> {
  const sql = `select ${COLUMNS} from exception_notes n where exception_id = $1 order by number`
  return query<ExceptionNote>(core.pool, sql, [exceptionId])
}

/** Also on one that is decided. The audit log tells of the note, and leaves its text here. */
export async function noteException(core: Core, actor: Actor, id: string, given: string): Promise<ExceptionNote> {
  const text = given.trim()
  if (text === '' || Array.from(text).length > MAX_NOTE_LENGTH || !isReadable(text))
    throw invalidField('text', NOTE_RULE)
  const { id: exceptionId } = await findException(core, id)
  const now = core.now()
  const noteId = newUuid7(now)
  return transact(core.pool, async (tx) => {
    // One note after another, so that each gets a number of its own.
    await tx.run('select from exceptions where id = $1 for no key update', [exceptionId])
    const [note] = await tx.rows<ExceptionNote>(
      `insert into exception_notes as n (id, exception_id, number, text, noted_at, noted_by_kind, noted_by)
       select $1, $2, count(*) + 1, $3, $4, $5, $6 from exception_notes where exception_id = $2
       having count(*) < $7
       returning ${COLUMNS}`,
      [noteId, exceptionId, text, now, actor.kind, actor.name, MAX_NOTES],
    )
    if (!note)
      throw new Fault('note_limit', `An exception can have at most ${MAX_NOTES} notes`, {
        details: { maxNotes: MAX_NOTES },
      })
    await writeAudit(tx, now, actor, {
      action: 'exception.noted',
      subject: `exception ${exceptionId}`,
      details: { number: note.number },
      rows: [['note', noteId]],
    })
    return note
  })
}
