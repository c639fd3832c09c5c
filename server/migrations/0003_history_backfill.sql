-- What was written before there were positions comes first: its places are negative.
insert into unnumbered (place, event_ids, line_id)
select row_number() over (order by at, line_id) - count(*) over () - 1, event_ids, line_id
from (
  select min(created_at) as at, array_agg(id order by created_at, id) as event_ids, null::bigint as line_id
  from (
    select id, created_at, (row_number() over (order by created_at, id) - 1) / 200 as chunk
    from events e
    where not exists (select from unnumbered u cross join unnest(u.event_ids) as w (id) where w.id = e.id)
  ) written
  group by chunk
  union all
  select at, null, id from audit_log l where not exists (select from unnumbered u where u.line_id = l.id)
) written;
