import type { CodeLanguage } from './code-sample.tsx'

type Samples = Record<CodeLanguage, string>

export function createSamples(base: string): Samples {
  return {
    curl: `curl ${base}/api/deposit \\
  -H "Authorization: Bearer $GUICHE_KEY" \\
  -H "Content-Type: application/json" \\
  -H "Idempotency-Key: order-1042" \\
  -d '{ "value": 5000, "externalId": "order-1042" }'`,
    javascript: `const response = await fetch('${base}/api/deposit', {
  method: 'POST',
  headers: {
    Authorization: \`Bearer \${process.env.GUICHE_KEY}\`,
    'Content-Type': 'application/json',
    'Idempotency-Key': 'order-1042',
  },
  body: JSON.stringify({ value: 5000, externalId: 'order-1042' }),
})
const answer = await response.json()
if (!response.ok) throw new Error(answer.error)
console.log(answer.charge.paymentLinkUrl)`,
    python: `import json, os, urllib.request

request = urllib.request.Request(
    "${base}/api/deposit",
    data=json.dumps({"value": 5000, "externalId": "order-1042"}).encode(),
    headers={
        "Authorization": f"Bearer {os.environ['GUICHE_KEY']}",
        "Content-Type": "application/json",
        "Idempotency-Key": "order-1042",
    },
)
with urllib.request.urlopen(request) as response:  # raises HTTPError for 4xx and 5xx
    charge = json.load(response)["charge"]
print(charge["paymentLinkUrl"])`,
    php: `<?php
$context = stream_context_create(['http' => [
    'method' => 'POST',
    'header' => [
        'Authorization: Bearer ' . getenv('GUICHE_KEY'),
        'Content-Type: application/json',
        'Idempotency-Key: order-1042',
    ],
    'content' => json_encode(['value' => 5000, 'externalId' => 'order-1042']),
    'ignore_errors' => true, // the body of a refusal says why
]]);
$answer = json_decode(file_get_contents('${base}/api/deposit', false, $context), true);
if (!$answer['success']) throw new RuntimeException($answer['error']);
echo $answer['charge']['paymentLinkUrl'];`,
  }
}

export function askSamples(base: string): Samples {
  const id = PAYMENT_LINK_ID
  return {
    curl: `curl ${base}/api/deposit/${id} \\
  -H "Authorization: Bearer $GUICHE_KEY"`,
    javascript: `const response = await fetch('${base}/api/deposit/${id}', {
  headers: { Authorization: \`Bearer \${process.env.GUICHE_KEY}\` },
})
const { charge } = await response.json()
console.log(charge.status) // PENDING, COMPLETED, EXPIRED or CANCELED`,
    python: `import json, os, urllib.request

request = urllib.request.Request(
    "${base}/api/deposit/${id}",
    headers={"Authorization": f"Bearer {os.environ['GUICHE_KEY']}"},
)
with urllib.request.urlopen(request) as response:
    charge = json.load(response)["charge"]
print(charge["status"])  # PENDING, COMPLETED, EXPIRED or CANCELED`,
    php: `<?php
$context = stream_context_create(['http' => [
    'header' => ['Authorization: Bearer ' . getenv('GUICHE_KEY')],
    'ignore_errors' => true, // the body of a refusal says why
]]);
$answer = json_decode(file_get_contents('${base}/api/deposit/${id}', false, $context), true);
echo $answer['charge']['status']; // PENDING, COMPLETED, EXPIRED or CANCELED`,
  }
}

const PAYMENT_LINK_ID = '7c9f6a1e-0c5e-4d0f-9a3b-2f6d1c8b4e57'

export function createAnswer(base: string): string {
  return JSON.stringify(
    {
      success: true,
      charge: {
        id: '0199a3c2f4b87d6e9b1a5c0d3e2f4a68',
        emv: '00020101021226700014br.gov.bcb.pix…630464E4',
        qrCodeLink: `${base}/qr/${PAYMENT_LINK_ID}.png`,
        paymentLinkId: PAYMENT_LINK_ID,
        paymentLinkUrl: `${base}/payment-link/${PAYMENT_LINK_ID}`,
        value: 5000,
        originalValue: 5000,
        fee: 50,
        status: 'PENDING',
      },
    },
    null,
    2,
  )
}
