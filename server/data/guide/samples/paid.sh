# PAYMENT_LINK_ID is the `paymentLinkId` of the deposit.
curl -sS "$GUICHE_URL/api/deposits/$PAYMENT_LINK_ID" \
  -H "Authorization: Bearer $GUICHE_KEY"
