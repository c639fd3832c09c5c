-- Payments that completed no charge, by the charge that they were meant for: pages and lists ask for them. Few payments are among them.
create index payments_uncredited_by_charge on payments (charge_id) where not credited;

-- Why a webhook was not delivered or is disabled, as a code beside the words. Null on what was written before there were codes.
alter table attempts add column error_code text, add column error_detail text;
alter table webhook_endpoints add column disabled_code text;
update webhook_endpoints set disabled_code = case disabled_reason
  when 'the receiver answered 410 Gone' then 'receiver_gone'
  when 'every delivery failed for 5 days' then 'failed_for_days'
  when 'disabled by the account holder' then 'disabled_by_account'
  when 'disabled by the operator' then 'disabled_by_operator'
  when 'deleted' then 'deleted'
  when 'made by guiche seed as an example: nobody listens there' then 'seed_example'
end
where disabled_at is not null;
