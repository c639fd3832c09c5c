# EMV is the code of the deposit. Pays another amount than was asked for; without `amountCents` it pays the right one.
curl -sS "$BANK/bank/pay" \
  -H "Content-Type: application/json" \
  -d '{ "emv": "'"$EMV"'", "amountCents": 4000 }'
