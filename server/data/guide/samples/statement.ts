import { guiche } from './guiche.ts'

const period = { from: '2026-01-01', to: '2026-01-31' }
const { openingBalance, closingBalance } = await guiche.statement.summary(period)
console.log(openingBalance, closingBalance)
for await (const line of guiche.statement.list(period)) console.log(line.kind, line.net, line.externalId)
