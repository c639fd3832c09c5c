import type { FastifyReply } from 'fastify'

/** Tells how old the data of a report are, if a standby gave them. */
export function sayAge(reply: FastifyReply, ageSeconds: number | null): void {
  if (ageSeconds !== null) reply.header('guiche-data-age', String(ageSeconds))
}
