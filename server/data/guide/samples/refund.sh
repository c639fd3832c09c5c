# PAYMENT_LINK_ID is the `paymentLinkId` of the deposit.
curl -sS "$GUICHE_URL/api/deposit/$PAYMENT_LINK_ID/refund" \
  -H "Authorization: Bearer $GUICHE_KEY" \
  -H "Content-Type: application/json" \
  -H "Idempotency-Key: return-77" \
  -d '{ "value": 2000, "reason": "One item was returned" }'
