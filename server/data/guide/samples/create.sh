# Store the key with your own record before the first attempt.
curl -sS "$GUICHE_URL/api/deposit" \
  -H "Authorization: Bearer $GUICHE_KEY" \
  -H "Content-Type: application/json" \
  -H "Idempotency-Key: cart-7b1f" \
  -d '{ "value": 1290, "description": "Coffee" }'
