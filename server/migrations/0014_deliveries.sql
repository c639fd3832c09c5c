-- no transaction
-- With the event, the order of the queue is definite, and a claim can begin where the last one ended. So it does not
-- read rows that were delivered meanwhile and that PostgreSQL cannot remove, because an old snapshot is held open.
create index concurrently if not exists deliveries_in_order on deliveries (webhook_id, due_at, event_id);
drop index concurrently if exists deliveries_by_webhook;
