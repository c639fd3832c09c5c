// Ways to break the messages on purpose. Each must be noticed: a check that cannot fail proves nothing.

const isCreate = ({ method, url }) => method === 'PUT' && /^\/cob\/\w+$/.test(url)
const isCharge = ({ url }) => /^\/cob\/\w+$/.test(url)

/** Changes the JSON of a body. Other bodies stay as they are. */
const edit = (body, change) => {
  try {
    const json = JSON.parse(body)
    change(json)
    return { body: JSON.stringify(json) }
  } catch {
    return {}
  }
}

export const SABOTAGES = {
  'answer-type': {
    says: 'the bank sends calendario.expiracao as text',
    answer: ({ request, status, body }) =>
      isCharge(request) &&
      status < 300 &&
      edit(body, (cob) => (cob.calendario.expiracao = String(cob.calendario.expiracao))),
  },
  'answer-field': {
    says: 'the bank leaves revisao out of its charges',
    answer: ({ request, status, body }) => isCharge(request) && status < 300 && edit(body, (cob) => delete cob.revisao),
  },
  'answer-status': {
    says: 'the bank answers 200 instead of 201',
    answer: ({ request, status }) => isCreate(request) && status === 201 && { status: 200 },
  },
  'answer-content-type': {
    says: 'the bank sends errors as text/html',
    answer: ({ status, headers }) => status >= 400 && { headers: { ...headers, 'content-type': 'text/html' } },
  },
  'answer-problem': {
    says: 'the bank sends a type of problem that is not described',
    answer: ({ status, body }) =>
      status === 404 && edit(body, (problem) => (problem.type = problem.type.replace(/\w+$/, 'NaoGostei'))),
  },
  'request-float': {
    says: 'the adapter sends valor.original as a float',
    request: (request) =>
      isCreate(request) && edit(request.body, (cob) => (cob.valor.original = Number(cob.valor.original) + 0.5)),
  },
  'request-field': {
    says: 'the adapter misspells expiracao',
    request: (request) =>
      isCreate(request) && edit(request.body, (cob) => (cob.calendario = { expiraçao: cob.calendario.expiracao })),
  },
  'request-query': {
    says: 'the adapter leaves fim out of its lists',
    request: ({ url }) => url.startsWith('/pix?') && { url: url.replace(/fim=[^&]*&/, '') },
  },
  'request-scope': {
    says: 'the adapter requests a token without the scope for refunds',
    request: ({ url, body }) => url === '/oauth/token' && { body: body.replace('pix.write', '').replace('++', '+') },
  },
  'notification-number': {
    says: 'the bank notifies with valor as a number',
    notification: ({ body }) => edit(body, ({ pix }) => pix.forEach((entry) => (entry.valor = Number(entry.valor)))),
  },
  'call-left-out': {
    says: 'no refund is ever requested',
    skips: 'refund',
  },
}
