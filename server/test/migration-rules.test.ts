import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

// A migration runs while deposits do, on tables of any size, so it must not lock a table for longer than a second. See
// docs/decisions/0028-changing-large-tables.md. Each rule below is shown SQL that breaks it.

/** The schema of the first release. It makes its tables, so they are empty. */
const BASELINE = '0001_baseline.sql'

type Migration = { name: string; sql: string }

type Statement = {
  /** Without comments, on one line, in lower case. */
  text: string
  /** The table that it changes, unless the same file made it. */
  table: string | undefined
  isTransaction: boolean
  /** The file has no other statement. */
  isAlone: boolean
  /** The SQL of all files before this one, in the same form as `text`. */
  earlier: string
}

type Rule = { says: string; isBroken: (statement: Statement) => boolean; broken: string[] }

const NO_TRANSACTION = '-- no transaction\n'
const ADDS_CONSTRAINT = /^add (constraint|check|foreign key|unique|primary key|exclude)\b/
/** Parts of a column's definition that cost a scan or a rewrite. */
const COSTLY =
  /\b(references|check|unique|primary key|generated|(big)?serial|(random|gen_random_uuid|uuidv[47]|clock_timestamp|nextval)\()/
const ALONE =
  /^(create (unique )?index concurrently if not exists|drop index concurrently if exists|alter table \w+ validate constraint \w+$)/

const RULES: Rule[] = [
  {
    says: 'an index on a table that exists is built by create index concurrently',
    isBroken: ({ text, table }) => /^create (unique )?index (?!concurrently)/.test(text) && table !== undefined,
    broken: [
      'create index a on charges (id)',
      'CREATE UNIQUE INDEX a\n  ON charges (id)',
      'create index on charges (id)',
    ],
  },
  {
    says: 'a file without a transaction has one statement that can run twice: create index concurrently if not exists, drop index concurrently if exists, validate constraint',
    isBroken: ({ text, isTransaction, isAlone }) => !isTransaction && !(isAlone && ALONE.test(text)),
    broken: [
      `${NO_TRANSACTION}alter table charges validate constraint a; alter table charges validate constraint b`,
      `${NO_TRANSACTION}create index concurrently a on charges (id)`,
      `${NO_TRANSACTION}drop index concurrently a`,
      `${NO_TRANSACTION}alter table charges add column a text`,
    ],
  },
  {
    says: 'concurrently and validate constraint stand in a file that begins with -- no transaction',
    isBroken: ({ text, isTransaction }) => isTransaction && /\bconcurrently\b|\bvalidate constraint\b/.test(text),
    broken: ['create index concurrently if not exists a on charges (id)', 'alter table charges validate constraint a'],
  },
  {
    says: 'a constraint is added not valid, and validated by a later file; a unique one takes an index that is there',
    isBroken: ({ text, table }) =>
      table !== undefined &&
      actionsOf(text).some((action) => ADDS_CONSTRAINT.test(action) && !/\b(not valid|using index \w+)$/.test(action)),
    broken: [
      'alter table charges add constraint a check (fee_cents > 0)',
      'alter table charges add foreign key (id) references accounts',
      'alter table charges add constraint a unique (emv)',
      'alter table charges add primary key (id)',
      'alter table charges add constraint a check (id > 0), add constraint b check (id > 1) not valid',
    ],
  },
  {
    says: 'set not null follows a constraint check (… is not null) that an earlier file validated, which spares the scan',
    isBroken: ({ text, table, earlier }) =>
      table !== undefined &&
      [...text.matchAll(/alter (?:column )?(\w+) set not null/g)].some(([, column]) => {
        const added = new RegExp(
          `alter table ${table} add constraint (\\w+) check \\(${column} is not null\\) not valid`,
        )
        const name = added.exec(earlier)?.[1]
        return name === undefined || !earlier.includes(`alter table ${table} validate constraint ${name}`)
      }),
    broken: ['alter table charges alter column emv set not null', 'alter table charges alter emv set not null'],
  },
  {
    says: 'a new column costs no scan and no rewrite: no constraint, and no default that differs from row to row',
    isBroken: ({ text, table }) =>
      table !== undefined &&
      actionsOf(text)
        .filter((action) => action.startsWith('add ') && !ADDS_CONSTRAINT.test(action))
        .some((action) => COSTLY.test(action)),
    broken: [
      'alter table charges add column a uuid references accounts',
      'alter table charges add a text check (length(a) < 9)',
      'alter table charges add column a uuid default gen_random_uuid()',
      'alter table charges add column a bigint generated always as identity',
      'alter table charges add column b text, add column a text unique',
    ],
  },
  {
    says: 'the type of a column stays: add another column, fill it in batches, and change over',
    isBroken: ({ text }) => /^alter table .*\balter (column )?\w+ (set data )?type\b/.test(text),
    broken: [
      'alter table charges alter column emv type varchar(9)',
      'alter table charges alter emv set data type text',
    ],
  },
  {
    says: 'names stay: the version before runs beside this one, and asks for the old name',
    isBroken: ({ text, table }) => table !== undefined && /\brename (column |to |\w+ to )/.test(text),
    broken: ['alter table charges rename column emv to code', 'alter table charges rename to deposits'],
  },
  {
    says: 'rows of a table that exists are changed in batches, by a worker and not by a migration',
    isBroken: ({ text, table }) => table !== undefined && /^(with\b.*)?\b(update|delete from|truncate)\b/.test(text),
    broken: [
      'update charges set paid_late = false',
      'delete from events',
      'truncate events',
      'with old as (select 1) delete from events',
    ],
  },
  {
    says: 'a migration says what it does: no do block hides it',
    isBroken: ({ text }) => /^do\b/.test(text),
    broken: ['do $$ begin update charges set emv = null; end $$'],
  },
  {
    says: 'no statement locks or rewrites a whole table',
    isBroken: ({ text }) =>
      /^(lock|cluster|vacuum full|vacuum \(full|reindex|refresh)\b|\bset (tablespace|logged|unlogged|access method)\b/.test(
        text,
      ),
    broken: ['lock table charges', 'vacuum full charges', 'reindex table charges', 'alter table charges set unlogged'],
  },
]

const FINE = [
  'create table a (id bigint primary key); create index a_by_id on a (id); insert into a values (1); update a set id = 2',
  'alter table charges add column a text; alter table charges add column b boolean not null default false',
  'alter table charges add constraint a check (fee_cents > 0) not valid',
  'alter table charges add constraint a unique using index charges_once',
  'alter table charges drop constraint a, drop column b',
  `${NO_TRANSACTION}-- For the search.\ncreate unique index concurrently if not exists a on charges (id);`,
  `${NO_TRANSACTION}drop index concurrently if exists b`,
  `${NO_TRANSACTION}alter table charges validate constraint a`,
  `-- allowed: a provider has one row\nupdate sweeps set claim = null`,
  `comment on table charges is 'update charges; lock table charges'`,
  `create function f() returns trigger language plpgsql as $$ begin update charges set emv = ''; lock charges; end $$`,
]

test('no migration after the first release locks a table for long', () => {
  const folder = new URL('../migrations/', import.meta.url)
  const names = readdirSync(folder).toSorted()
  expect(names).toContain(BASELINE)
  const files = names.map((name) => ({ name, sql: readFileSync(new URL(name, folder), 'utf8') }))
  expect(breaches(files, BASELINE)).toEqual([])
})

test.each(RULES)('the rule can fail: $says', ({ says, broken }) => {
  const isCaught = (sql: string) => breaches([{ name: '0002_a.sql', sql }]).some((line) => line.endsWith(says))
  expect(broken.filter((sql) => !isCaught(sql))).toEqual([])
})

test.each(FINE)('this breaks no rule: %s', (sql) => {
  expect(breaches([{ name: '0002_a.sql', sql }])).toEqual([])
})

test('a column becomes not null in three files, and not in fewer', () => {
  const steps = [
    'alter table charges add constraint emv_there check (emv is not null) not valid',
    `${NO_TRANSACTION}alter table charges validate constraint emv_there`,
    'alter table charges alter column emv set not null; alter table charges drop constraint emv_there',
  ].map((sql, index) => ({ name: `000${index + 2}_a.sql`, sql }))
  expect(breaches(steps)).toEqual([])
  expect(breaches(steps.toSpliced(1, 1))).toHaveLength(1)
})

/** A line for each breach in the files after the baseline. A comment `-- allowed: why` above a statement excuses it. */
function breaches(files: Migration[], baseline = ''): string[] {
  return files.flatMap(({ name, sql }, index) => {
    if (name <= baseline) return []
    const statements = splitStatements(sql)
    const made = new Set(
      statements.flatMap(
        (statement) => /^create (?:unlogged )?table (?:if not exists )?(\w+)/.exec(plain(statement))?.[1] ?? [],
      ),
    )
    const earlier = files
      .slice(0, index)
      .map((file) => plain(file.sql))
      .join('\n')
    return statements
      .filter((statement) => !/^-- allowed: .{10,}$/m.test(statement))
      .flatMap((statement) => {
        const text = plain(statement)
        const table = tableOf(text)
        const isTransaction = !sql.startsWith(NO_TRANSACTION)
        const isAlone = statements.length === 1
        return RULES.filter((rule) =>
          rule.isBroken({ text, table: table && made.has(table) ? undefined : table, isTransaction, isAlone, earlier }),
        ).map((rule) => `${name}: ${text.slice(0, 60)}: ${rule.says}`)
      })
  })
}

function plain(sql: string): string {
  return withoutComments(sql).replaceAll(/\s+/g, ' ').trim().toLowerCase()
}

/** The actions of one `alter table`. */
function actionsOf(text: string): string[] {
  const [, actions] = /^alter table (?:if exists )?(?:only )?[\w.]+ (.*)$/.exec(text) ?? []
  return actions?.split(/, (?=(?:add|alter|drop|rename|set|validate) )/) ?? []
}

function tableOf(text: string): string | undefined {
  const found =
    /^(?:alter table (?:if exists )?(?:only )?|create (?:unique )?index [^(]*?\bon (?:only )?|(?:with\b.*)?\bupdate |(?:with\b.*)?\bdelete from |truncate (?:table )?)(\w+)/
  return found.exec(text)?.[1]
}

// Comments, strings, quoted names and bodies of functions are one token each: a semicolon in them ends no statement.
const TOKENS = /--[^\n]*|\/\*[^]*?\*\/|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[^]*?\$\1\$|;|[^;'"$/-]+|[^]/g

/** The statements of a migration, each with the comments above it. */
function splitStatements(sql: string): string[] {
  const statements: string[] = []
  let text = ''
  for (const [token] of `${sql};`.matchAll(TOKENS)) {
    if (token !== ';') text += token
    else {
      if (withoutComments(text).trim() !== '') statements.push(text.trim())
      text = ''
    }
  }
  return statements
}

function withoutComments(sql: string): string {
  return sql.replaceAll(TOKENS, (token) => (/^(--|\/\*)/.test(token) ? ' ' : token))
}
