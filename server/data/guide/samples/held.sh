# PAYMENT_LINK_ID is the `paymentLinkId` of the deposit; the answer has `heldPayments`.
curl -sS "$GUICHE_URL/api/deposits/$PAYMENT_LINK_ID" \
  -H "Authorization: Bearer $GUICHE_KEY"
