import { prettyJson, type ExampleRequest } from './reference-examples.ts'

// One request in several languages, each with nothing but what the language brings. Tests run them.

export function curlSample({ method, url, needsKey, takesIdempotencyKey, body }: ExampleRequest): string {
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${url}`,
    ...(needsKey ? ['-H "Authorization: Bearer $GUICHE_KEY"'] : []),
    ...(takesIdempotencyKey ? ['-H "Idempotency-Key: $(uuidgen)"'] : []),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d '${indented(prettyJson(body))}'`]),
    ...(/\.(png|svg)$/.test(url) ? ['-O'] : []),
    ...(!needsKey && url.endsWith('/events') ? ['-N'] : []),
  ].join(' \\\n  ')
}

export function javascriptSample({ method, url, takesIdempotencyKey, body }: ExampleRequest): string {
  const address = url.replaceAll(VARIABLE, '${env.$1}')
  const quote = address === url ? "'" : '`'
  return lines(
    "import { env } from 'node:process'",
    '',
    `const response = await fetch(${quote}${address}${quote}, {`,
    method !== 'GET' && `  method: '${method}',`,
    '  headers: {',
    '    Authorization: `Bearer ${env.GUICHE_KEY}`,',
    takesIdempotencyKey && "    'Idempotency-Key': crypto.randomUUID(),",
    body !== undefined && "    'Content-Type': 'application/json',",
    '  },',
    body !== undefined && `  body: JSON.stringify(${indented(prettyJson(body))}),`,
    '})',
    'console.log(response.status, await response.json())',
  )
}

export function pythonSample({ method, url, takesIdempotencyKey, body }: ExampleRequest): string {
  const address = url.replaceAll(VARIABLE, "{os.environ['$1']}")
  return lines(
    `import json, os${takesIdempotencyKey ? ', uuid' : ''}`,
    'from urllib.request import Request, urlopen',
    '',
    'request = Request(',
    `    ${address === url ? '' : 'f'}"${address}",`,
    method !== 'GET' && `    method="${method}",`,
    '    headers={',
    `        "Authorization": f"Bearer {os.environ['GUICHE_KEY']}",`,
    takesIdempotencyKey && '        "Idempotency-Key": str(uuid.uuid4()),',
    body !== undefined && '        "Content-Type": "application/json",',
    '    },',
    body !== undefined && `    data='${JSON.stringify(body)}'.encode(),`,
    ')',
    'with urlopen(request) as response:',
    '    print(response.status, json.load(response))',
  )
}

export function phpSample({ method, url, takesIdempotencyKey, body }: ExampleRequest): string {
  const address = `'${url.replaceAll(VARIABLE, "' . getenv('$1') . '")}'`.replace(/ \. ''$/, '')
  return lines(
    '<?php',
    "$context = stream_context_create(['http' => [",
    method !== 'GET' && `    'method' => '${method}',`,
    "    'header' => [",
    "        'Authorization: Bearer ' . getenv('GUICHE_KEY'),",
    takesIdempotencyKey && "        'Idempotency-Key: ' . bin2hex(random_bytes(16)),",
    body !== undefined && "        'Content-Type: application/json',",
    '    ],',
    body !== undefined && `    'content' => '${JSON.stringify(body)}',`,
    "    'ignore_errors' => true,",
    ']]);',
    `echo file_get_contents(${address}, false, $context), "\\n";`,
  )
}

const VARIABLE = /\$([A-Z_]+)/g

function indented(text: string): string {
  return text.replaceAll('\n', '\n  ')
}

function lines(...all: (string | false)[]): string {
  return all.filter((line) => line !== false).join('\n')
}
