# `next` of the answer is the cursor for the next request.
curl -sS "$GUICHE_URL/api/events?after=${CURSOR:-0}&limit=100" \
  -H "Authorization: Bearer $GUICHE_KEY"
