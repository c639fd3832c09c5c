# Store the `secret` of the answer: it is shown only here.
curl -sS "$GUICHE_URL/api/webhooks" \
  -H "Authorization: Bearer $GUICHE_KEY" \
  -H "Content-Type: application/json" \
  -d '{
    "url": "https://shop.example.com/guiche",
    "events": ["DEPOSIT_ASSET_SUCCESS", "DEPOSIT_EXPIRED", "DEPOSIT_HELD", "DEPOSIT_RELEASED"]
  }'
