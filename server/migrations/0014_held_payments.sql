-- Payments that completed no charge, by the charge that they were meant for: pages and lists ask for them. Few payments are among them.
create index payments_uncredited_by_charge on payments (charge_id) where not credited;
