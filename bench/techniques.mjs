// What makes the service fast, each with the edits that take it away, and the measures that tell the difference.
// bench/on-off.mjs runs them with it and without.
export const TECHNIQUES = [
  {
    name: 'lanes',
    says: 'What gathers while a statement runs goes into the next one',
    edits: [['domain/core/lane.js', 'const MAX_BATCH = 200;', 'const MAX_BATCH = 1;']],
    measures: [1],
  },
  {
    name: 'names',
    says: 'Statements have names, and PostgreSQL keeps their plans',
    edits: [['db/prepared.js', 'keepsStatements(pool) ? names.get(sql) : undefined', 'undefined']],
    measures: [1, 11],
  },
  {
    name: 'lengths',
    says: 'The length of a batch is hidden from the planner',
    edits: [['db/insert-rows.js', '(select $${firstParam + index}::${type}[])', '$${firstParam + index}::${type}[]']],
    measures: [1],
  },
  {
    name: 'lists',
    says: 'One list of received Pix answers many hints',
    edits: [['domain/deposits/checks/received-list.js', 'const FEW = 8;', 'const FEW = Infinity;']],
    measures: [10],
  },
  {
    name: 'flights',
    says: 'Queries of one charge share a call',
    edits: [['base/single-flight.js', 'if (!flight)', 'if (true)']],
    measures: [3],
  },
  {
    name: 'answers',
    says: 'The answer of a COMPLETED charge is kept in memory',
    edits: [['http/api/completed-answers.js', 'entry?.accountId === accountId ? entry.answer', 'false ? entry.answer']],
    measures: [4],
  },
  {
    name: 'keys',
    says: 'A key is hashed once for each connection',
    edits: [['http/auth/api-key-auth.js', 'if (last?.key === key)', 'if (false)']],
    measures: [4],
  },
  {
    name: 'reads',
    says: 'Reads of the same turn share a statement',
    edits: [['db/shared-reads.js', 'const MAX_KEYS = 200;', 'const MAX_KEYS = 1;']],
    measures: [6],
  },
  {
    name: 'serializers',
    says: 'Answers are written by code that is generated from their schemas; without: checked by zod, and JSON.stringify',
    edits: [
      [
        'http/server/serializers.js',
        'return (answer) => (write ??= compile(schema))(answer);',
        'return (answer) => JSON.stringify(schema.parse(answer));',
      ],
    ],
    measures: [6, 7],
  },
  {
    name: 'leases',
    says: 'A notification is stored with its lease and followed up at once; without: claimed from the queue',
    edits: [['workers/check.js', 'MAX_FOLLOWED - followed.size()', '0']],
    measures: [11],
  },
  {
    name: 'stripes',
    says: 'Cash and fees have eight ledger accounts each, so two batches commit at once',
    edits: [['domain/ledger/ledger.js', "'pg_backend_pid() % 8'", "'0'"]],
    measures: [8],
  },
  {
    name: 'garbage',
    says: 'The heap grows by 60 % before it is collected; without: up to four times',
    edits: [['main.js', 'setFlagsFromString(`--heap-growing-percent=${HEAP_GROWS_BY_PERCENT}`);', '']],
    measures: [18],
  },
]
