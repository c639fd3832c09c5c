# Shows whether the service answers and the key works.
curl -sS "$GUICHE_URL/api/balance" \
  -H "Authorization: Bearer $GUICHE_KEY"
