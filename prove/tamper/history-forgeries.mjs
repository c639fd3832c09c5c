// Forgeries of what was told, and in which order: events, lines of the audit log, their positions, the tree and its
// heads. Whoever writes them can compute every hash, but has no key and cannot reach the head outside the database.

/** As sealForgeries(). */
export function historyForgeries({ victim, eve }) {
  const eventAt = (position) =>
    `(select event_id from history where account_id = '${victim}' and position = ${position})`
  const newestLine = `(select max(id) from audit_log)`
  const middleLine = `(select line_id from history_lines where class = 'line' order by position offset 1 limit 1)`
  // Every event in a run of its own, so that one of them can be altered alone.
  const takeApart = `
    create temp table apart on commit drop as select h.*, r.salt as run_salt, r.numbered_at
    from history h join history_runs r using (account_id, first_position);
    delete from history_runs;
    insert into history_runs (account_id, first_position, first_leaf, event_ids, salt, numbered_at)
    select account_id, position, leaf, array[event_id], run_salt, numbered_at from apart`
  const run = (account, position) => `account_id = '${account}' and first_position = ${position}`
  const swapEvents = `
    ${takeApart};
    update history_runs r set event_ids = array[a.event_id] from apart a
    where a.account_id = r.account_id and r.first_position in (1, 2) and a.position = 3 - r.first_position
      and r.account_id = '${victim}'`
  const forget = (line) => `
    create temp table forgotten on commit drop as select ${line} as id;
    delete from history_lines where line_id = (select id from forgotten);
    delete from audit_log where id = (select id from forgotten)`
  const closeUp = `
    update history_lines h set position = 1000000 + n.place from (
      select position, row_number() over (order by position) as place from history_lines) n where h.position = n.position;
    update history_lines set position = position - 1000000`
  // The hashes of all leaves as they follow from what stands in the tables.
  const recommit = `
    update history_lines h set commitment = sha256(v.salt || uuid_send(v.account_id) || int8send(v.position) || convert_to((
      select jsonb_object_agg(f.key, f.value)::text from audit_log l
      cross join lateral jsonb_each(to_jsonb(l) || jsonb_build_object('at',
        to_char(l.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) f
      where l.id = h.line_id and f.value <> 'null'), 'UTF8'))
    from history v where v.line_id = h.line_id and h.salt is not null;
    update history_leaves b set hashes = (
      select string_agg(sha256('\\x00'::bytea || convert_to(h.class, 'UTF8') || '\\x00'::bytea || coalesce(h.commitment,
        sha256(h.salt || uuid_send(h.account_id) || int8send(h.position) || convert_to(e.body, 'UTF8')))), ''::bytea order by h.leaf)
      from history h left join events e on e.id = h.event_id
      where h.leaf >= b.first_leaf and h.leaf < b.first_leaf + length(b.hashes) / 32)`
  const oneByte = (hashes) => `set_byte(${hashes}, 7, (get_byte(${hashes}, 7) + 1) % 256)`
  const newestHead = `size = (select max(size) from history_heads)`

  return [
    ['two events of the victim told in another order', ['tree'], swapEvents],
    ['two events in another order, and their hashes with them', ['tree', 'order'], `${swapEvents}; ${recommit}`],
    [
      'two lines of the log told in another order',
      ['position'],
      `
      create temp table two on commit drop as select * from history_lines where position in (1, 2);
      update history_lines set line_id = -position where position in (1, 2);
      update history_lines h set line_id = t.line_id from two t where t.position = 3 - h.position and h.position in (1, 2)`,
    ],
    [
      'another salt of events',
      ['tree'],
      `update history_runs set salt = gen_random_uuid() where account_id = '${victim}'`,
    ],
    [
      'events committed to anew, with another salt',
      ['tree'],
      `update history_runs set salt = gen_random_uuid(); ${recommit}`,
    ],
    [
      'an event that says something else, and its hash with it',
      ['tree', 'event_seal'],
      `update events set body = replace(body::text, '"value":', '"value": ')::json where account_id = '${victim}'; ${recommit}`,
    ],
    ['the newest line of the log gone, with its position', ['tree'], forget(newestLine)],
    ['a line from the middle of the log gone, with its position', ['dense', 'tree'], forget(middleLine)],
    ['a line gone, and the positions after it closed up', ['tree', 'position'], `${forget(middleLine)}; ${closeUp}`],
    [
      'the newest line gone, and the tree cut to fit',
      ['dense', 'tree'],
      `${forget(newestLine)}; delete from history_leaves where first_leaf = (select max(first_leaf) from history_leaves)`,
    ],
    ['all history of the victim gone', ['numbered', 'tree'], `delete from history_runs where account_id = '${victim}'`],
    [
      'an event without a position',
      ['numbered', 'dense', 'tree'],
      `${takeApart}; delete from history_runs where ${run(victim, 2)}`,
    ],
    [
      'an event with two positions',
      ['numbered'],
      `
      insert into history_runs (account_id, first_position, first_leaf, event_ids, salt, numbered_at)
      select account_id, first_position + cardinality(event_ids), 1000000, event_ids, salt, numbered_at
      from history_runs where account_id = '${victim}' order by first_position desc limit 1`,
    ],
    [
      'an event that waits for a second position',
      ['numbered'],
      `insert into unnumbered (event_ids) values (array[${eventAt(1)}])`,
    ],
    [
      'an event of the victim in the history of eve',
      ['position', 'dense', 'tree'],
      `${takeApart}; update history_runs set account_id = '${eve}', first_position = 1000000 where ${run(victim, 1)}`,
    ],
    [
      'a line called erased that stands in the log',
      ['position'],
      `update history_lines set salt = null, class = 'personal' where line_id = ${middleLine}`,
    ],
    [
      'a line called personal that is not',
      ['position', 'tree'],
      `update history_lines set class = 'personal' where line_id = ${middleLine}`,
    ],
    [
      'a line gone that privacy does not let go, its salt with it',
      ['tree'],
      `
      update history_lines set salt = null, class = 'personal' where line_id = ${middleLine};
      delete from audit_log where id = ${middleLine}`,
    ],
    [
      'a commitment to nothing',
      ['position', 'tree'],
      `update history_lines set commitment = sha256('x') where line_id = ${middleLine}`,
    ],
    [
      'another hash of a leaf',
      ['tree'],
      `update history_leaves set hashes = ${oneByte('hashes')} where first_leaf = 0`,
    ],
    [
      'the newest leaves gone',
      ['dense', 'tree'],
      `delete from history_leaves where first_leaf = (select max(first_leaf) from history_leaves)`,
    ],
    [
      'another history begun by hand',
      ['begun'],
      `insert into histories (id, began_at, reason) values (gen_random_uuid(), now(), 'a backup was restored')`,
    ],
    ['another root in a head', ['tree'], `update history_heads set root = sha256(root)`],
    [
      'a head that nobody signed',
      ['tree'],
      `update history_heads set note = replace(note, E'\\n\\n', E'\\n') where note <> ''`,
    ],
    [
      'a head with the signature of another text',
      ['tree'],
      `
      update history_heads set note = regexp_replace(note, '[A-Za-z0-9+/=]{40,}\\n$', encode(sha256('x'), 'base64') || E'\\n')
      where ${newestHead}`,
    ],
    ['the heads gone', ['tree'], `delete from history_heads`],
    [
      'the heads gone, and history told anew',
      ['tree'],
      `delete from history_heads; update history_runs set salt = gen_random_uuid(); ${recommit}`,
    ],
  ]
}
