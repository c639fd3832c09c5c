# -i shows the headers: among them Guiche-Error, X-Request-Id and, where it helps, Retry-After.
curl -sS -i -X PUT "$GUICHE_URL/api/orders/order-1042/deposit" \
  -H "Authorization: Bearer $GUICHE_KEY" \
  -H "Content-Type: application/json" \
  -d '{ "value": 9900 }'
