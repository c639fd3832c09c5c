curl -sS -X PUT "$GUICHE_URL/api/orders/order-1042/deposit" \
  -H "Authorization: Bearer $GUICHE_KEY" \
  -H "Content-Type: application/json" \
  -d '{ "value": 5000 }'
