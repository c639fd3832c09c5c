-- True: another charge of its order is COMPLETED, so a payment of this one is held. A charge that is paid after its end
-- marks the open one, whose settlement then reads nothing but its own row. See
-- docs/decisions/0008-external-ids-are-claims.md.
alter table charges add column order_paid boolean not null default false;
