// What must hold in the end. The bank's lists of payments and charges are the truth. The expected books are computed
// from them and from what was requested, without the service's code.

export const CLAIMS = {
  audit: 'guiche audit finds no difference',
  lost: 'every payment at the bank is in the books once, with its amount and txid',
  invented: 'every payment in the books is at the bank',
  credited: 'each payment was credited once or is an open exception of the right kind',
  sum: 'balances, fees and suspense add up to what the bank received',
  balances: 'each account has exactly what its paid deposits are worth, in the books and by the API',
  'one-code': 'no idempotency key ever had two payable codes',
  unpayable: 'what is CANCELED or FAILED in the books cannot be paid at the bank',
  'in-time': 'no deposit that was paid in time is marked late',
  told: 'every completed deposit reached its webhook with the right amounts, and no other did',
  answers: 'no answer was a 500, no deposit disappeared, and every price was right',
  fresh: 'a fresh query after the payment says COMPLETED, and no status ever went back',
  hints: 'without the sweep only payments without a notification are missing',
  list: 'one malformed entry in the bank’s list keeps no other payment out of the books',
  rest: 'all work finished: no charge stayed open, and no delivery stayed pending',
  process: 'the service never exited unasked, and exited with 0 when it was stopped',
}

/** The breaches of each claim. */
export function judge(facts) {
  const truth = computeTruth(facts)
  const breaches = {
    audit: facts.audit,
    lost: findLost(facts),
    invented: findInvented(facts),
    credited: findMiscredited(facts, truth),
    sum: checkSum(facts),
    balances: checkBalances(facts, truth),
    'one-code': findSecondCodes(facts.bank.charges),
    unpayable: findStillPayable(facts),
    'in-time': findMislabelled(facts, truth),
    told: checkAnnouncements(facts),
    hints: checkHints(facts),
  }
  return Object.fromEntries(
    Object.keys(CLAIMS).map((claim) => [claim, [...(facts.notes.get(claim) ?? []), ...(breaches[claim] ?? [])]]),
  )
}

/** Keys with two charges at the bank that were not withdrawn. The description of a charge holds its key. */
export function findSecondCodes(charges) {
  const payable = charges.filter((cob) => !cob.status.startsWith('REMOVIDA'))
  return [...groupBy(payable, (cob) => cob.solicitacaoPagador)].flatMap(([key, cobs]) =>
    cobs.length > 1
      ? [`${key} has ${cobs.length} codes: ${cobs.map((cob) => `${cob.txid} ${cob.status}`).join(', ')}`]
      : [],
  )
}

/**
 * Finds the scenario, price and payments of each charge at the bank. A charge is completed if a payment has exactly its
 * value.
 */
function computeTruth({ bank, scenarios, priceOf }) {
  const paid = groupBy(bank.payments, (pix) => pix.txid)
  const entries = bank.charges.map((cob) => {
    const scenario = scenarios.get(cob.solicitacaoPagador)
    const payments = paid.get(cob.txid) ?? []
    const exact = payments.filter((pix) => pix.amountCents === scenario.valueCents)
    return [cob.txid, { cob, scenario, payments, exact, ...priceOf(scenario.valueCents) }]
  })
  return new Map(entries)
}

function findLost({ bank, books }) {
  const recorded = groupBy(books.payments, (row) => row.end_to_end_id)
  return bank.payments.flatMap((pix) => {
    const rows = recorded.get(pix.endToEndId) ?? []
    if (rows.length !== 1) return [`${describe(pix)} is in the books ${rows.length} times`]
    const [row] = rows
    if (row.amount_cents === BigInt(pix.amountCents) && row.txid === pix.txid) return []
    return [`${describe(pix)} is in the books with ${row.amount_cents} cents for ${row.txid}`]
  })
}

function findInvented({ bank, books }) {
  const real = new Set(bank.payments.map((pix) => pix.endToEndId))
  return books.payments.flatMap((row) =>
    real.has(row.end_to_end_id) ? [] : [`${row.end_to_end_id} of ${row.amount_cents} cents was never made`],
  )
}

function findMiscredited({ books }, truth) {
  const breaches = books.payments.flatMap((row) => {
    const wanted = row.credited ? ['balance', 'balance fees'] : ['suspense']
    const isBooked = wanted.includes(row.booked_to) && row.booked_cents === row.amount_cents
    const isHandled = row.credited ? row.exceptions === 0n : row.exceptions === 1n
    if (isBooked && isHandled) return []
    return [
      `${row.end_to_end_id}: credited ${row.credited}, ${row.exceptions} open exceptions, ${row.booked_cents} of ${row.amount_cents} cents booked to ${row.booked_to}`,
    ]
  })
  const credited = groupBy(
    books.payments.filter((row) => row.credited),
    (row) => row.charge_txid,
  )
  for (const charge of books.charges) {
    const exact = truth.get(charge.txid)?.exact ?? []
    const rows = credited.get(charge.txid) ?? []
    const isRight =
      exact.length > 0
        ? rows.length === 1 && charge.status === 'COMPLETED'
        : rows.length === 0 && charge.status !== 'COMPLETED'
    if (!isRight)
      breaches.push(
        `${charge.txid} is ${charge.status} with ${rows.length} credited payments; the bank has ${exact.length} of its value`,
      )
  }
  return [...breaches, ...findMisnamedExceptions(books, truth)]
}

function findMisnamedExceptions(books, truth) {
  return books.payments.flatMap((row) => {
    if (row.credited) return []
    const charge = truth.get(row.txid)
    // A wrong amount for a paid charge is a second payment too.
    const isExact = charge && row.amount_cents === BigInt(charge.scenario.valueCents)
    const kinds = !charge ? ['unknown_charge'] : isExact ? ['second_payment'] : ['wrong_amount', 'second_payment']
    return kinds.includes(row.exception)
      ? []
      : [`${row.end_to_end_id} is an exception of kind ${row.exception}, not ${kinds.join(' or ')}`]
  })
}

function checkSum({ bank, books }) {
  const received = bank.payments.reduce((sum, pix) => sum + BigInt(pix.amountCents), 0n)
  const held = books.balances.filter(({ kind }) => kind !== 'cash').reduce((sum, row) => sum + row.balance_cents, 0n)
  const cash = books.balances.filter(({ kind }) => kind === 'cash').reduce((sum, row) => sum - row.balance_cents, 0n)
  return received === held && received === cash
    ? []
    : [`the bank received ${received} cents, the books hold ${held}, their cash is ${cash}`]
}

function checkBalances({ books, balances, accounts }, truth) {
  return accounts.flatMap(({ email }) => {
    const paid = [...truth.values()].filter(
      (charge) => charge.scenario.account.email === email && charge.exact.length > 0,
    )
    const due = paid.reduce((sum, charge) => sum + BigInt(charge.creditedCents), 0n)
    const kept = books.balances.find((row) => row.kind === 'balance' && row.email === email)?.balance_cents
    const { balance, lines } = balances.get(email)
    const isRight = kept === due && BigInt(balance) === due && lines === due
    return isRight
      ? []
      : [
          `${email} is owed ${due}, the ledger keeps ${kept}, the API says ${balance}, its statement adds up to ${lines}`,
        ]
  })
}

function findStillPayable({ bank, books, scenarios }) {
  const atBank = new Map(bank.charges.map((cob) => [cob.txid, cob.status]))
  const withdrawn = books.charges.filter(({ status }) => status === 'CANCELED' || status === 'FAILED')
  const reported = [...scenarios.values()]
    .filter((scenario) => scenario.canceled)
    .map((scenario) => ({ txid: scenario.charge.id, status: 'CANCELED to its caller' }))
  return [...withdrawn, ...reported].flatMap(({ txid, status }) =>
    atBank.get(txid) === 'ATIVA' ? [`${txid} is ${status}, and ATIVA at the bank`] : [],
  )
}

/** Leaves out charges that were canceled, because the order of events decides there. */
function findMislabelled({ books }, truth) {
  return books.charges.flatMap((charge) => {
    const { scenario, exact, cob } = truth.get(charge.txid) ?? {}
    const pix = exact?.find(({ endToEndId }) => endToEndId === charge.end_to_end_id)
    if (!pix || scenario.cancels > 0) return []
    const overAtMs = Date.parse(cob.calendario.criacao) + cob.calendario.expiracao * 1000
    const paidAtMs = Date.parse(pix.horario)
    if (charge.paid_late && paidAtMs < overAtMs)
      return [`${charge.txid} was paid ${overAtMs - paidAtMs} ms before its expiry and is marked late`]
    return []
  })
}

function checkAnnouncements({ books, events }) {
  const charges = new Map(books.charges.map((charge) => [charge.txid, charge]))
  const announced = new Map()
  const breaches = []
  for (const [id, bodies] of events) {
    if (bodies.size !== 1) breaches.push(`event ${id} came with ${bodies.size} bodies`)
    const { event, data } = JSON.parse([...bodies][0])
    if (event !== 'DEPOSIT_ASSET_SUCCESS') continue
    if (announced.has(data.transactionId)) breaches.push(`${data.transactionId} was announced by two events`)
    announced.set(data.transactionId, data)
    const charge = charges.get(data.transactionId)
    const isRight =
      charge?.status === 'COMPLETED' &&
      BigInt(data.creditedValue) === charge.value_cents - charge.fee_cents &&
      data.endToEndId === charge.end_to_end_id
    if (!isRight)
      breaches.push(`${data.transactionId} is ${charge?.status} and was announced as ${JSON.stringify(data)}`)
  }
  const completed = books.charges.filter(({ status }) => status === 'COMPLETED')
  const silent = completed
    .filter(({ txid }) => !announced.has(txid))
    .map(({ txid }) => `${txid} is COMPLETED and was never announced`)
  return [...breaches, ...silent]
}

function checkHints({ missingBeforeSweep, unannounced }) {
  return missingBeforeSweep > unannounced
    ? [`${missingBeforeSweep} payments were missing, and only ${unannounced} notifications were lost`]
    : []
}

function describe(pix) {
  return `${pix.endToEndId} of ${pix.amountCents} cents for ${pix.txid}`
}

function groupBy(list, keyOf) {
  const groups = new Map()
  for (const item of list) {
    const key = keyOf(item)
    if (groups.has(key)) groups.get(key).push(item)
    else groups.set(key, [item])
  }
  return groups
}
