# BANK is the address of the sandbox bank, such as http://127.0.0.1:21000. From now on it loses notifications and answers.
curl -sS -X PUT "$BANK/bank/faults" \
  -H "Content-Type: application/json" \
  -d '{ "dropNotifications": true, "loseAnswerRate": 0.3, "seed": 7 }'

# {} heals it.
curl -sS -X PUT "$BANK/bank/faults" -H "Content-Type: application/json" -d '{}'
