curl -sS "$GUICHE_URL/api/payouts" \
  -H "Authorization: Bearer $GUICHE_KEY" \
  -H "Content-Type: application/json" \
  -H "Idempotency-Key: payout-week-5" \
  -d '{ "value": 1000, "note": "Week 5" }'
