# As a file: csv, csv-br, ofx, ofx2 or jsonl.
curl -sS "$GUICHE_URL/api/statement/export?format=csv&from=2026-01-01&to=2026-01-31" \
  -H "Authorization: Bearer $GUICHE_KEY"
