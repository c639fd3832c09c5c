// Forgeries of what was told, and in which order: events, lines of the audit log, their positions, the tree and its
// heads. Whoever writes them can compute every hash, but has no key and cannot reach the head outside the database.

/** As sealForgeries(). */
export function historyForgeries({ victim, eve }) {
  const OPERATORS = '00000000-0000-0000-0000-000000000000'
  const of = (account, position) => `account_id = '${account}' and position = ${position}`
  const newestLine = `(select max(id) from audit_log)`
  const middleLine = `(select line_id from history where line_id is not null and class = 'line' order by position offset 1 limit 1)`
  const swap = (account) => `
    update history set position = 1000000 where ${of(account, 1)};
    update history set position = 1 where ${of(account, 2)};
    update history set position = 2 where ${of(account, 1_000_000)}`
  const forget = (line) => `
    create temp table forgotten on commit drop as select ${line} as id;
    delete from history where line_id = (select id from forgotten);
    delete from audit_log where id = (select id from forgotten)`
  const closeUp = `
    update history h set position = 1000000 + n.place, leaf = 1000000 + n.leaf from (
      select account_id, position, row_number() over (partition by account_id order by position) as place,
        row_number() over (order by leaf) - 1 as leaf from history) n
    where h.account_id = n.account_id and h.position = n.position;
    update history set position = position - 1000000, leaf = leaf - 1000000`
  const recommit = `
    update history h set commitment = sha256(uuid_send(h.salt) || uuid_send(h.account_id) || int8send(h.position) ||
      convert_to(e.body, 'UTF8')) from events e where e.id = h.event_id`

  return [
    ['two events of the victim told in another order', ['position'], swap(victim)],
    ['two lines of the log told in another order', ['position'], swap(OPERATORS)],
    [
      'the salt of another event',
      ['position'],
      `update history set salt = (select salt from history where ${of(victim, 2)}) where ${of(victim, 1)}`,
    ],
    [
      'an event committed to anew, with another salt',
      ['tree'],
      `update history set salt = gen_random_uuid() where class = 'event'; ${recommit}`,
    ],
    [
      'an event that says something else, and its commitment with it',
      ['tree', 'event_seal'],
      `update events set body = replace(body, '"value":', '"value": ') where account_id = '${victim}'; ${recommit}`,
    ],
    ['the newest line of the log gone, with its position', ['dense', 'tree'], forget(newestLine)],
    ['a line from the middle of the log gone, with its position', ['dense', 'tree'], forget(middleLine)],
    [
      'a line gone, and the positions after it closed up',
      ['dense', 'tree', 'position'],
      `${forget(middleLine)}; ${closeUp}`,
    ],
    [
      'the newest line gone, and the tree cut to fit',
      ['dense', 'tree'],
      `${forget(newestLine)}; delete from history_edges where size = (select max(size) from history_edges)`,
    ],
    [
      'all history of the victim gone',
      ['numbered', 'dense', 'tree'],
      `delete from history where account_id = '${victim}'`,
    ],
    ['an event without a position', ['numbered'], `delete from history where ${of(victim, 2)}`],
    [
      'an event of the victim in the history of eve',
      ['position', 'dense'],
      `update history set account_id = '${eve}', position = 1000000 where ${of(victim, 1)}`,
    ],
    [
      'a line called erased that stands in the log',
      ['position'],
      `update history set salt = null, class = 'personal' where line_id = ${middleLine}`,
    ],
    [
      'a line called personal that is not',
      ['position', 'tree'],
      `update history set class = 'personal' where line_id = ${middleLine}`,
    ],
    [
      'a line gone that privacy does not let go, its salt with it',
      ['position'],
      `
      update history set salt = null, class = 'personal' where line_id = ${middleLine};
      delete from audit_log where id = ${middleLine}`,
    ],
    [
      'a commitment to nothing',
      ['position', 'tree'],
      `update history set commitment = sha256('x') where ${of(victim, 1)}`,
    ],
    [
      'another edge of the tree',
      ['tree'],
      `update history_edges set edge = sha256(edge) where size = (select max(size) from history_edges)`,
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
      update history_heads set note = regexp_replace(note, '[A-Za-z0-9+/=]{40,}\\n$', encode(sha256('x'), 'base64') || E'\\n')`,
    ],
    ['the heads gone', ['tree'], `delete from history_heads`],
    [
      'the heads gone, and history told anew',
      ['tree', 'position'],
      `
      delete from history_heads; update history set salt = gen_random_uuid() where salt is not null; ${recommit}`,
    ],
  ]
}
