-- What was written before there were positions comes first: its places are negative.
insert into unnumbered (place, event_id, line_id)
select row_number() over (order by at, line_id, event_id) - count(*) over () - 1, event_id, line_id
from (
  select created_at as at, id as event_id, null::bigint as line_id from events
  union all
  select at, null, id from audit_log
) written
where not exists (
  select from unnumbered u where u.event_id = written.event_id or u.line_id = written.line_id
);
