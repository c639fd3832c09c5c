import { z } from 'zod'
import { OPERATOR_SCOPE } from '../../domain/accounts/callers.ts'
import type { Context } from '../../domain/context.ts'
import {
  HEALTH_AREAS,
  HEALTH_CHECK_NAMES,
  HEALTH_CHECKS,
  HEALTH_LEVELS,
  HEALTH_UNITS,
  type HealthLine,
} from '../../domain/reports/health-bounds.ts'
import { readHealth } from '../../domain/reports/health.ts'
import { describeOperations, response, time, toApi, type Api } from '../server/schemas.ts'

export function operatorHealthRoutes(app: Api, ctx: Context, home: string | undefined): void {
  const config = { scope: OPERATOR_SCOPE } as const
  app.get('/api/operator/health', { schema: routes.getHealth, config }, async () => {
    const { level, at, lines, processes } = await readHealth(ctx, home)
    return {
      success: true as const,
      level,
      at: at.toISOString(),
      lines: lines.map(presentLine),
      processes: processes.map(toApi),
    }
  })
}

function presentLine(line: HealthLine) {
  const { area, unit } = HEALTH_CHECKS[line.check]
  return { area, ...line, unit }
}

const level = z.enum(HEALTH_LEVELS).meta({
  description: 'red: somebody must act now. yellow: it waits for the morning. As the alerts for Prometheus say.',
})

const lineSchema = z
  .object({
    area: z.enum(HEALTH_AREAS),
    check: z.enum(HEALTH_CHECK_NAMES),
    subject: z.string().nullable().meta({ description: 'The provider, queue, worker or step that it is about.' }),
    level,
    value: z.number().nullable().meta({ description: 'Null: nothing is known.' }),
    unit: z.enum(HEALTH_UNITS).meta({ description: 'state: 1 is right, and 0 is wrong.' }),
    bound: z.number().nullable().meta({ description: 'The bound that the value passed, or would pass first.' }),
    count: z.int().nullable().meta({ description: 'How many, where the value is the age of the oldest.' }),
    alert: z.string().nullable().meta({ description: 'The alert rule with this bound.' }),
    detail: z.string().nullable().meta({ description: 'The last error of a provider that fails.' }),
  })
  .meta({ id: 'HealthLine' })

const processSchema = z.object({
  role: z.string(),
  host: z.string(),
  version: z.string(),
  startedAt: time,
  pool: z
    .object({ max: z.int(), inUse: z.int(), idle: z.int(), waiting: z.int() })
    .nullable()
    .meta({ description: 'Its connections to the database; null if it told nothing yet.' }),
})

const routes = describeOperations('Operator', {
  getHealth: {
    summary: 'Is everything in order?',
    description:
      'What the metrics tell, with the bounds of the alert rules: providers, queues, workers, database, history, processes. Counts of calls are those of the process that answers. Needs an operator’s key.',
    response: {
      200: response('Each line by itself, and the worst of them.', {
        level,
        at: time,
        lines: lineSchema.array(),
        processes: processSchema.array(),
      }),
    },
  },
})
