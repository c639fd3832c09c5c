// Forgeries of rows that no other rows tell of: who may act, where events go, what is to be paid, what was decided.
// Whoever writes them has every line of the audit log and every seal that was ever stored, but no key.

/** Each is a name, the checks of which one must name it, and SQL. Accounts are those of `makeHistory`. */
export function sealForgeries({ victim, eve }) {
  const hex = (uuid) => `replace((${uuid})::text, '-', '')`
  const one = (from) => `(select id from ${from} order by id limit 1)`
  const key = one(`api_keys where account_id = '${victim}'`)
  const keyOfEve = one(`api_keys where account_id = '${eve}'`)
  const userOf = (account) => `(select user_id from accounts where id = '${account}')`
  const operator = one('operators')
  const webhook = one(`webhooks where account_id = '${victim}'`)
  const webhookOfEve = one(`webhooks where account_id = '${eve}'`)
  const idle = `(select id from accounts where suspended_at is not null order by id limit 1)`
  const pending = one(`charges where account_id = '${victim}' and status = 'PENDING'`)
  const pendingOfEve = one(`charges where account_id = '${eve}' and status = 'PENDING'`)
  const canceled = one(`charges where status = 'CANCELED'`)
  const paid = one(`charges where account_id = '${victim}' and status = 'COMPLETED' and not paid_late`)
  const late = one(`charges where status = 'COMPLETED' and end_seal is not null`)
  const refund = one(`refunds where source = 'balance' and fee_returned_cents > 0`)
  const decided = one(`exceptions where resolution = 'write_off'`)
  const opened = one(`exceptions where kind = 'foreign_refund' and resolution is null`)
  const event = one(`events where account_id = '${victim}'`)
  const otherEvent = `(select id from events where account_id = '${victim}' and kind = 'DEPOSIT_ASSET_SUCCESS' order by id desc limit 1)`
  const eventOfEve = one(`events where account_id = '${eve}'`)
  const lineOf = (name) => `(select id from audit_log where rows::jsonb ? (${name}) order by id desc limit 1)`
  const nameOf = (kind, id) => `'${kind} ' || ${hex(id)}`
  const edit = (set, line) => `update audit_log set ${set} where id = ${line}`
  const COLUMNS = 'at, actor_kind, actor, key_id, action, subject, account_id, reason, details, rows, seal'
  const repeat = (line) => `insert into audit_log (${COLUMNS}) select ${COLUMNS} from audit_log where id = ${line}`
  const columns = (table, left) =>
    `(select string_agg(quote_ident(attname), ', ') from pg_attribute where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped and attname <> all('{${left}}'))`
  /** Copies a row, with other values for some of its columns. */
  const copy = (table, id, changed) => `do $f$ begin execute format(
      'insert into ${table} (${Object.keys(changed).join(', ')}, %s) select ${Object.values(changed)
        .map((sql) => sql.replaceAll("'", "''"))
        .join(', ')}, %s from ${table} where id = %L',
      ${columns(table, Object.keys(changed))}, ${columns(table, Object.keys(changed))}, ${id}); end $f$`
  const ended = (status, id = pending) => `
    create temp table ended on commit drop as select c.id, c.account_id, c.external_id from charges c where c.id = ${id};
    update charges set status = '${status}', closed_at = greatest(created_at, expires_at) - interval '1 second'
      ${status === 'FAILED' ? ', emv = null' : ''} where id = (select id from ended);
    delete from external_ids where charge_id = (select id from ended);
    delete from checks where subject = ${hex('(select id from ended)')};
    delete from daily_total_marks; delete from daily_totals`
  const replay = 'a seal of another row'

  return [
    // ---- Accounts
    [
      'an account that nobody made',
      ['row'],
      copy('users', userOf(eve), { id: 'gen_random_uuid()', email: `'new@x.example'` }),
    ],
    ['a name that somebody else chose', ['row'], `update accounts set name = 'Loja' where id = '${victim}'`],
    [
      'a shop that nobody set up, which sends payers elsewhere',
      ['row'],
      `insert into brands (id, version, changed_at, language, return_origins)
       values ('${eve}', 1, now(), 'pt-BR', '{https://evil.example}')`,
    ],
    [
      'an account that is older than it was',
      ['row'],
      `update accounts set created_at = created_at - interval '1 day' where id = '${eve}'`,
    ],
    [
      'two accounts with each other’s people',
      ['row'],
      `alter table accounts drop constraint accounts_user_id_key; alter table accounts drop constraint accounts_user;
       create temp table pair on commit drop as select id, user_id from accounts where id in ('${victim}', '${eve}');
       update accounts a set user_id = p.user_id from pair p where p.id <> a.id and a.id in (select id from pair)`,
    ],
    [
      'a suspension that was lifted',
      ['row'],
      `update accounts set suspended_at = null, suspended_reason = null where id = ${idle}`,
    ],
    [
      'a suspension for another reason',
      ['row'],
      `update accounts set suspended_reason = 'asked for it' where id = ${idle}`,
    ],
    [
      'a suspension that nobody asked for',
      ['row'],
      `update accounts set suspended_at = created_at, suspended_reason = 'x' where id = '${victim}'`,
    ],

    // ---- Members
    [
      'a member whom nobody invited',
      ['row'],
      `insert into members (id, account_id, user_id, role, added_at) values (gen_random_uuid(), '${victim}', ${userOf(eve)}, 'owner', now())`,
    ],
    ['a member with another role', ['row'], `update members set role = 'viewer' where account_id = '${victim}'`],
    ['a member who is called removed', ['row'], `update members set removed_at = now() where account_id = '${victim}'`],
    ['a member who is gone', ['row'], `delete from members where account_id = '${victim}'`],
    [
      'a member of another account',
      ['row'],
      `update members set account_id = ${idle} where account_id = '${victim}' and user_id <> (select user_id from accounts where id = ${idle})`,
    ],
    [
      'a second factor that the account is said to demand',
      ['row'],
      `update accounts set requires_second_factor = true where id = '${eve}'`,
    ],

    // ---- People
    [
      'an e-mail that leads to somebody else',
      ['row'],
      `update users set email = 'eve@evil.example' where id = ${userOf(victim)}`,
    ],
    [
      'an e-mail that nobody confirmed',
      ['row'],
      `update users set email_verified = not email_verified where id = ${userOf(eve)}`,
    ],
    [
      'a second factor that is called on',
      ['row'],
      `update users set two_factor_enabled = not two_factor_enabled where id = ${userOf(victim)}`,
    ],
    ['a person of another name', ['row'], `update users set name = 'Eve' where id = ${userOf(victim)}`],
    [
      'an account holder who is called an operator',
      ['row', 'schema'],
      `alter table accounts drop constraint accounts_user; update users set kind = 'operator' where id = ${userOf(eve)}`,
    ],

    // ---- Operators
    [
      'an operator who nobody made',
      ['row'],
      `insert into users (id, kind, email, email_verified, name, created_at, updated_at)
       select gen_random_uuid(), 'operator', 'mallory@ops.example', true, 'Mallory', created_at, updated_at from users limit 1;
       insert into operators (id, user_id, email, name, created_at) select gen_random_uuid(), id, email, name, created_at from users where email = 'mallory@ops.example'`,
    ],
    ['an operator who was put off', ['row'], `update operators set disabled_at = created_at where id = ${operator}`],
    [
      'an operator of another e-mail',
      ['row'],
      `update users set email = 'x@ops.example' where id = (select user_id from operators where id = ${operator})`,
    ],
    ['an operator of another name', ['row'], `update operators set name = 'Eve' where id = ${operator}`],

    // ---- Keys
    [
      'a key that nobody made',
      ['row'],
      `insert into api_keys (id, account_id, name, prefix, hash, scopes, created_at)
       select gen_random_uuid(), account_id, name, prefix, sha256('known'), scopes, created_at from api_keys where id = ${key}`,
    ],
    [
      'a key of an operator that nobody made',
      ['row'],
      `insert into api_keys (id, operator_id, name, prefix, hash, scopes, created_at)
       select gen_random_uuid(), ${operator}, 'x', 'x', sha256('known'), '{operator}', now()`,
    ],
    ['a key whose text somebody else knows', ['row'], `update api_keys set hash = sha256('known') where id = ${key}`],
    [
      'a key that may do more',
      ['row'],
      `update api_keys set scopes = scopes || '{refunds:write,all}' where id = ${key}`,
    ],
    ['a key that may do less', ['row'], `update api_keys set scopes = '{balance:read}' where id = ${key}`],
    ['a key that was revoked by nobody', ['row'], `update api_keys set revoked_at = created_at where id = ${key}`],
    [
      'a key that expires',
      ['row'],
      `update api_keys set expires_at = created_at + interval '1 year' where id = ${key}`,
    ],
    ['a key of another account', ['row'], `update api_keys set account_id = '${eve}' where id = ${key}`],
    [
      'two keys with each other’s texts',
      ['row'],
      `create temp table pair on commit drop as select id, hash from api_keys where id in (${key}, ${keyOfEve});
       update api_keys set hash = sha256(hash) where id in (select id from pair);
       update api_keys k set hash = p.hash from pair p where p.id <> k.id and k.id in (select id from pair)`,
    ],
    [
      `a key that nobody made, with ${replay}`,
      ['row', 'line_seal'],
      `insert into api_keys (id, account_id, name, prefix, hash, scopes, created_at)
       select '0190f0f0-0000-7000-8000-000000000001', account_id, name, prefix, sha256('known'), scopes, created_at from api_keys where id = ${key};
       insert into audit_log (${COLUMNS}) select at, actor_kind, actor, key_id, action, 'key 0190f0f0-0000-7000-8000-000000000001', account_id, reason, details,
         replace(rows::text, ${hex(key)}, '0190f0f0000070008000000000000001')::json, seal from audit_log where id = ${lineOf(nameOf('key', key))}`,
    ],

    // ---- Webhooks
    [
      'a webhook that leads to somebody else',
      ['row'],
      `update webhooks set url = 'https://evil.example/' where id = ${webhook}`,
    ],
    [
      'a webhook of fewer kinds',
      ['row'],
      `update webhooks set event_kinds = '{DEPOSIT_REFUNDED}' where id = ${webhook}`,
    ],
    [
      'a webhook that is disabled',
      ['row'],
      `update webhooks set disabled_at = created_at, disabled_code = 'x', disabled_reason = 'x' where id = ${webhook}`,
    ],
    [
      'a webhook that is enabled',
      ['row'],
      `update webhooks set disabled_at = null, disabled_code = null, disabled_reason = null where id = ${webhookOfEve}`,
    ],
    ['a webhook that is called deleted', ['row'], `update webhooks set deleted_at = created_at where id = ${webhook}`],
    ['a webhook of another secret', ['row'], `update webhooks set secret_box = 'x' where id = ${webhook}`],
    [
      'a webhook that proves itself with a header',
      ['row'],
      `update webhooks set authorization_box = 'x' where id = ${webhook}`,
    ],
    ['a webhook of another account', ['row'], `update webhooks set account_id = '${eve}' where id = ${webhook}`],
    ['a webhook that nobody added', ['row'], copy('webhooks', webhook, { id: 'gen_random_uuid()' })],
    ['a webhook that is gone', ['row'], `delete from webhooks where id = ${webhook}`],
    [
      'a webhook as it was before it was disabled',
      ['line_seal'],
      `update webhooks set disabled_at = null, disabled_code = null, disabled_reason = null where id = ${webhookOfEve};
       ${repeat(`(select min(id) from audit_log where subject = 'webhook ' || ${webhookOfEve})`)}`,
    ],

    // ---- Terms
    [
      'terms without a fee, as found when the history began',
      ['row'],
      `insert into account_terms (account_id, valid_from, fee_bps, set_by_kind, set_by, reason)
       select '${eve}', created_at, 0, 'system', 'guiche', 'as found when the history began' from accounts where id = '${eve}'`,
    ],
    [
      'terms with the seal of other terms',
      ['row', 'line_seal'],
      `insert into account_terms (account_id, valid_from, fee_bps, set_by_kind, set_by, reason) select account_id, valid_from, 0, set_by_kind, set_by, reason from account_terms limit 1;
       insert into audit_log (${COLUMNS}) select at, actor_kind, actor, key_id, action, subject, account_id, reason, details,
         json_build_object('terms ' || (select max(id) from account_terms), value), seal
       from audit_log, json_each_text(rows) where action = 'account.terms_changed' limit 1`,
    ],
    ['terms that are gone', ['row'], 'delete from account_terms where id = (select max(id) from account_terms)'],
    [
      'terms that are gone, with their line',
      ['line_seal', 'row', 'history'],
      `delete from audit_log where id > (select min(id) from audit_log where action = 'account.terms_changed'); delete from account_terms`,
    ],
    ['terms of a fee of nothing', ['row'], 'update account_terms set fee_bps = 0, fee_fixed_cents = 0'],
    ['terms of another account', ['row'], `update account_terms set account_id = '${eve}'`],
    ['terms that were valid before', ['row'], `update account_terms set valid_from = valid_from - interval '1 day'`],
    ['terms that somebody else set', ['row'], `update account_terms set set_by = 'somebody'`],

    // ---- Decisions
    [
      'an exception that was opened by nobody',
      ['row'],
      `delete from audit_log where rows::jsonb ? (${nameOf('exception', opened)})`,
    ],
    [
      'an exception that is open again, and its line deleted',
      ['row', 'transfer'],
      `delete from audit_log where rows::jsonb ? (${nameOf('exception', decided)}) and action = 'exception.resolved';
       update exceptions set resolution = null, resolved_by_kind = null, resolved_by = null, reason = null, resolved_at = null where id = ${decided}`,
    ],
    [
      'a decision of another day',
      ['row'],
      `update exceptions set resolved_at = resolved_at - interval '1 day' where id = ${decided}`,
    ],
    ['a note of another text', ['row'], `update exception_notes set text = 'x' where number = 1`],
    ['a note of somebody else', ['row'], `update exception_notes set noted_by = 'olga' where number = 1`],
    ['a note that is gone', ['row'], `delete from exception_notes where number = 2`],
    [
      'a note that nobody wrote',
      ['row'],
      copy('exception_notes', one('exception_notes'), { id: 'gen_random_uuid()', number: '3' }),
    ],
    [
      'the fee of the last refund kept back, in all books',
      ['row'],
      `delete from transfers where kind = 'fee_returned' and refund_id = ${refund}; update refunds set fee_returned_cents = 0 where id = ${refund}; select rebook();`,
    ],
    [
      'a refund that was asked for under another key',
      ['row'],
      `update refunds set idempotency_key = 'x', request_hash = sha256('x') where id = ${refund}`,
    ],
    [
      'a refund that was ended by an operator',
      ['row'],
      `update refunds set ended_by_kind = 'operator', ended_by = 'olga', ended_reason = 'x' where id = ${refund}`,
    ],

    // ---- Closings and cursors
    [
      'a closing that found no difference',
      ['row'],
      `update closings set difference_count = 0, differences = '[]', provider_count = ledger_count, provider_total_cents = ledger_total_cents + 1 where revision = 1`,
    ],
    ['a closing of another time', ['row'], `update closings set closed_at = closed_at + interval '1 minute'`],
    [
      'a closing that is gone',
      ['row'],
      'delete from closings where (day, revision) = (select max(day), 1 from closings)',
    ],
    [
      'a closing of which log and table know nothing',
      ['sweep', 'row', 'line_seal', 'position'],
      `delete from audit_log where action = 'day.closed' and id = (select min(id) from audit_log where action = 'day.closed');
       delete from closings where (provider, day, revision) in (select provider, min(day), 1 from closings group by provider)`,
    ],
    [
      'no closings at all, of a provider that began today',
      ['row'],
      `delete from closings; delete from audit_log where action = 'day.closed'; update sweeps set began_at = swept_until, next_closing = (swept_until at time zone 'America/Sao_Paulo')::date`,
    ],
    [
      'a closing that was done once more',
      ['row'],
      `insert into closings select provider, day, revision + 1, starts_at, ends_at, provider_count, provider_total_cents, ledger_count, ledger_total_cents, 0, '[]', closed_at from closings order by day, revision desc limit 1`,
    ],
    [
      'a provider that began later',
      ['row'],
      `update sweeps set began_at = began_at + interval '1 minute', swept_until = swept_until + interval '1 minute'`,
    ],
    ['a provider that began before', ['row'], `update sweeps set began_at = began_at - interval '1 minute'`],
    [
      'a history that was never seeded',
      ['line_seal'],
      `insert into audit_log (at, actor_kind, actor, action, subject, account_id, details) select max(at), 'system', 'guiche seed', 'history.seeded', 'account ${victim}', '${victim}', '{}' from audit_log`,
    ],

    // ---- Lines of the log
    [
      'a line of another reason',
      ['line_seal'],
      edit(`reason = 'for another reason'`, '(select max(id) from audit_log where reason is not null)'),
    ],
    ['a line of another actor', ['line_seal'], edit(`actor = 'olga'`, '(select min(id) from audit_log)')],
    [
      'a line of another kind of actor',
      ['line_seal'],
      edit(
        `actor_kind = case actor_kind when 'system' then 'console' else 'system' end`,
        '(select min(id) from audit_log)',
      ),
    ],
    ['a line of another time', ['line_seal'], edit(`at = at + interval '1 second'`, '(select min(id) from audit_log)')],
    [
      'a line of other details',
      ['line_seal'],
      edit(`details = details || '{"x":1}'`, '(select min(id) from audit_log)'),
    ],
    [
      'a line of another account',
      ['line_seal'],
      edit(`account_id = '${eve}'`, `(select min(id) from audit_log where account_id = '${victim}')`),
    ],
    ['a line about something else', ['line_seal'], edit(`subject = 'account x'`, '(select min(id) from audit_log)')],
    [
      'a line of another action',
      ['line_seal'],
      edit(`action = 'key.revoked'`, `(select min(id) from audit_log where action = 'key.created')`),
    ],
    ['a line without a seal', ['line_seal'], edit('seal = null', '(select min(id) from audit_log)')],
    [
      'a line with the seal of another',
      ['line_seal'],
      edit('seal = (select seal from audit_log order by id desc limit 1)', '(select min(id) from audit_log)'),
    ],
    ['a line that tells of no row', ['line_seal', 'row'], edit('rows = null', lineOf(nameOf('key', key)))],
    ['a line that is written again', ['line_seal'], repeat('(select min(id) from audit_log)')],
    [
      'a line that is written again, under a number of its own',
      ['line_seal'],
      `insert into audit_log (id, ${COLUMNS}) overriding system value select id + 1000000, ${COLUMNS} from audit_log where id = (select min(id) from audit_log); delete from audit_log where id = (select min(id) from audit_log)`,
    ],
    [
      'a seal of another row in a line',
      ['line_seal', 'row'],
      edit(
        `rows = json_build_object(${nameOf('key', key)}, (select value from audit_log, json_each_text(rows) where key = ${nameOf('key', keyOfEve)} limit 1))`,
        lineOf(nameOf('key', key)),
      ),
    ],
    [
      'the newest line of a key deleted',
      ['row', 'line_seal', 'position'],
      `delete from audit_log where id = ${lineOf(nameOf('key', key))}`,
    ],
    [
      'the newest line of a webhook deleted',
      ['row'],
      `delete from audit_log where id = ${lineOf(nameOf('webhook', webhookOfEve))}`,
    ],
    ['the whole log deleted', ['row'], 'delete from audit_log'],

    // ---- Codes to pay
    [
      'a code of somebody else',
      ['code_seal'],
      `create temp table code on commit drop as select emv from charges where id = ${pendingOfEve}; update charges set emv = emv || ' ' where id = ${pendingOfEve};
       update charges set emv = (select emv from code) where id = ${pending}`,
    ],
    [
      'two codes with their seals, each on the other charge',
      ['code_seal'],
      `create temp table pair on commit drop as select id, emv, code_seal from charges where id in (${pending}, ${pendingOfEve});
       update charges c set emv = p.emv, code_seal = p.code_seal from pair p where p.id <> c.id and c.id in (select id from pair)`,
    ],
    ['a code without a seal', ['code_seal'], `update charges set code_seal = null where id = ${pending}`],
    ['a code of a charge that is paid', ['code_seal'], `update charges set code_seal = sha256('x') where id = ${paid}`],
    [
      'a charge at a provider that there is not',
      ['code_seal'],
      `update charges set provider = 'other' where id = ${pending}; update checks set provider = 'other' where subject = ${hex(pending)}`,
    ],
    [
      'a charge whose key is deleted',
      ['code_seal'],
      'delete from idempotency_keys where charge_id = (select charge_id from idempotency_keys order by charge_id desc limit 1)',
    ],
    [
      'a key of a charge that had none',
      ['code_seal', 'idempotency_key'],
      `insert into idempotency_keys select c.account_id, 'x', k.request_hash, c.id, c.created_at from charges c, idempotency_keys k
       where c.id = (select id from charges where emv is not null and id not in (select charge_id from idempotency_keys) order by id desc limit 1) limit 1`,
    ],
    [
      'a charge that was made before',
      ['charge'],
      `update charges set created_at = created_at - interval '1 second' where id = ${pending}; update idempotency_keys set created_at = created_at - interval '1 second' where charge_id = ${pending}`,
    ],

    // ---- Ends
    ['a charge that can be paid, called canceled', ['end_seal'], ended('CANCELED')],
    ['a charge that can be paid, called expired', ['end_seal'], ended('EXPIRED')],
    ['a charge that can be paid, called failed', ['end_seal'], ended('FAILED')],
    [
      `a charge that can be paid, called canceled with ${replay}`,
      ['end_seal'],
      `${ended('CANCELED')}; update charges set end_seal = (select end_seal from charges where id = ${canceled}) where id = (select id from ended)`,
    ],
    ['a canceled charge called expired', ['end_seal'], `update charges set status = 'EXPIRED' where id = ${canceled}`],
    [
      'a charge that was canceled later',
      ['end_seal'],
      `update charges set closed_at = closed_at + interval '1 second' where id = ${canceled}`,
    ],
    [
      'a charge that was canceled, without a seal',
      ['end_seal'],
      `update charges set end_seal = null where id = ${canceled}`,
    ],
    [
      'a paid charge that had ended before',
      ['end_seal'],
      `update charges set closed_at = closed_at - interval '1 second' where id = ${late}`,
    ],
    [
      'a paid charge that ended never',
      ['charge'],
      `update charges set end_seal = null, closed_at = closed_at - interval '1 second' where id = ${late}`,
    ],

    // ---- Events
    ['an event of another body', ['event_seal'], `update events set body = body || ' ' where id = ${event}`],
    [
      'an event of another time',
      ['event_seal'],
      `update events set created_at = created_at - interval '1 second' where id = ${event}`,
    ],
    ['an event of another account', ['event_seal'], `update events set account_id = '${eve}' where id = ${event}`],
    ['an event without a seal', ['event_seal'], `update events set seal = null where id = ${event}`],
    [
      'an event with the seal of another',
      ['event_seal'],
      `update events set seal = (select seal from events where id = ${eventOfEve}) where id = ${event}`,
    ],
    [
      'a test that nobody asked for',
      ['event_seal'],
      copy('events', event, { id: 'gen_random_uuid()', subject_id: 'gen_random_uuid()', kind: `'WEBHOOK_TEST'` }),
    ],
    [
      'two events in each other’s order',
      ['event_seal'],
      `create temp table pair on commit drop as select id from events where id in (${event}, ${otherEvent}); update events set id = '00000000-0000-7000-8000-000000000009' where id = (select min(id::text)::uuid from pair);
       update events set id = (select min(id::text)::uuid from pair) where id = (select max(id::text)::uuid from pair);
       update events set id = (select max(id::text)::uuid from pair) where id = '00000000-0000-7000-8000-000000000009'`,
    ],
    [
      'a payment that came a minute before, everywhere',
      ['event_seal'],
      `update payments set occurred_at = occurred_at - interval '1 minute' where charge_id = ${paid} and credited;
       update charges set paid_at = paid_at - interval '1 minute' where id = ${paid};
       update transfers set occurred_at = occurred_at - interval '1 minute' where charge_id = ${paid} and kind in ('deposit', 'fee');
       update events e set body = regexp_replace(body, '"paidAt":"[^"]*"', '"paidAt":"' || to_char(c.paid_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"')
       from charges c where c.id = ${paid} and e.subject_id = c.id and e.kind = 'DEPOSIT_ASSET_SUCCESS'`,
    ],

    // ---- Deliveries
    [
      'a delivery that is called delivered',
      ['delivery_seal'],
      `update delivery_outcomes set outcome = case outcome when 'failed' then 'delivered' else 'failed' end`,
    ],
    ['a delivery after more attempts', ['delivery_seal'], 'update delivery_outcomes set attempts = attempts + 1'],
    [
      'a delivery at another time',
      ['delivery_seal'],
      `update delivery_outcomes set ended_at = ended_at - interval '1 second'`,
    ],
    ['a delivery without a seal', ['delivery_seal'], 'update delivery_outcomes set seal = null'],
    [
      'a delivery to another webhook',
      ['delivery_seal'],
      `update delivery_outcomes set webhook_id = ${webhook} where webhook_id = ${webhookOfEve}`,
    ],
    [
      'a delivery that goes on until the end of time',
      ['delivery'],
      `create temp table waiting on commit drop as select event_id, webhook_id from delivery_outcomes limit 1; delete from delivery_outcomes where event_id = (select event_id from waiting);
       insert into deliveries (event_id, webhook_id, due_at) select event_id, webhook_id, 'infinity' from waiting`,
    ],
    [
      'a delivery that failed without an attempt',
      ['delivery_seal'],
      `insert into delivery_outcomes (event_id, webhook_id, outcome, attempts, ended_at, seal)
       select ${eventOfEve}, ${webhook}, 'failed', 0, ended_at, seal from delivery_outcomes limit 1 on conflict do nothing`,
    ],

    // ---- The mark, from which on every row has a seal
    [
      'the mark that all rows are sealed, removed',
      ['line_seal', 'position'],
      `delete from audit_log where action = 'history.sealed'`,
    ],
    [
      'the mark that all rows are sealed, removed everywhere',
      ['line_seal'],
      `delete from audit_log where action = 'history.sealed'; delete from seal_marks`,
    ],
    [
      'the mark that all rows are sealed, of another day',
      ['line_seal'],
      edit(`at = at + interval '1 year'`, `(select max(id) from audit_log where action = 'history.sealed')`),
    ],
    [
      'a second mark',
      ['line_seal'],
      `insert into seal_marks select max(id) + 1 from audit_log; ${repeat(`(select max(id) from audit_log where action = 'history.sealed')`)}`,
    ],
    [
      'an event that was found before there were seals',
      ['event_seal', 'line_seal'],
      `update events set seal = null where id = ${event};
       ${edit(`rows = json_build_object('events ' || ${hex(event)} || ' ' || ${hex(event)}, repeat('0', 32))`, `(select max(id) from audit_log where action = 'history.sealed')`)}`,
    ],
    [
      'a release before there were seals, which is said to run',
      ['event_seal'],
      `update events set seal = null where id = ${event};
       insert into processes (instance, role, host, version, started_at, leased_until) values (1, 'all', 'x', '1.0.0-rc.1', now(), 'infinity')`,
    ],

    // ---- The order of deposits
    [
      'two deposits in each other’s order',
      ['chain'],
      `create temp table pair on commit drop as select id from transfers
         where id in (select min(id) from transfers where kind = 'deposit' and account_id = '${victim}'
           union select max(id) from transfers where kind = 'deposit' and account_id = '${victim}');
       alter table transfers alter column id set generated by default; update transfers set id = -id where id in (select id from pair);
       update transfers t set id = o.id from pair p join pair o on o.id <> p.id where t.id = -p.id; select rebook();`,
      'under way',
    ],
  ]
}
