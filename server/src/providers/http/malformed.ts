import { z } from 'zod'

/** An answer of a provider that is not what it should be. A field that money depends on makes garbage of the whole: half an answer of a bank is none. */
export class MalformedResponse extends Error {
  override name = 'MalformedResponse'
}

/** `whose` is the description that the message fails, for the error. */
export function parseMessage<Body>(schema: z.ZodType<Body>, json: unknown, whose: string): Body {
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  // The places and not the values, which may be anything.
  const places = parsed.error.issues.slice(0, 3).map((issue) => issue.path.join('.') || 'the whole')
  throw new MalformedResponse(`not as ${whose} has it: ${places.join(', ')}`)
}

/** RFC 3339, zone included: a time without one would be read in this machine's zone, three hours off. */
export const instant = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i)
  .transform((text) => new Date(text))
  .refine((date) => !Number.isNaN(date.getTime()))
