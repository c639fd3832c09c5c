import { makeBalance, type Balance } from './balance.ts'
import { makeCodes, type Codes } from './codes.ts'
import { makeDisputes, type Disputes } from './disputes.ts'
import { makeDeposits, type Deposits } from './deposits.ts'
import { makeCall, makeDownload, makeOpen, type Call, type GuicheOptions } from './http.ts'
import { makePayouts, type Payouts } from './payouts.ts'
import { makeRefunds, type Refunds } from './refunds.ts'
import { makeSentEvents, type SentEvents } from './sent-events.ts'
import { makeShop, type ShopOfAccount } from './shop.ts'
import { makeStatement, type Statement } from './statement.ts'
import { makeWebhooks, type Webhooks } from './webhooks.ts'

export type {
  CreateDepositBody,
  CreateWebhookBody,
  EnsureCodeBody,
  EnsureDepositBody,
  GetOrderQuery,
  GetHeadQuery,
  GetStatementQuery,
  ListCodesQuery,
  ListDepositsQuery,
  ListDisputesQuery,
  ListEventsQuery,
  ListPayoutsQuery,
  ListRefundsQuery,
  Operations,
  RefundDepositBody,
  RequestPayoutBody,
  ResendEventBody,
  ResendEventsBody,
  RetryWebhookBody,
  RotateWebhookSecretBody,
  TestWebhookBody,
  UpdateWebhookBody,
} from './api.ts'
export type { WantedCode } from './codes.ts'
export type { NewEvidence } from './disputes.ts'
export type { OrderDeposit } from './deposits.ts'
export type { ConsumeOptions, HandleEvent } from './consume.ts'
export { GuicheError, type ClientErrorCode, type GuicheErrorCode } from './errors.ts'
export { verifyHistory } from './history.ts'
export type { HistoryProblem, HistoryProblemCode, HistoryProof, Pieces } from './history.ts'
export { verifyReceipt } from './history-receipt.ts'
export type { ReceiptProblem, ReceiptProof } from './history-receipt.ts'
export type { Call, CallOptions, Created, CreateOptions, GuicheOptions } from './http.ts'
export type { Page, Pages } from './pages.ts'
export type { HistoryEvent, HistoryHead, HistoryPage, HistoryQuery } from './read-history.ts'
export type { SentEvent } from './sent-events.ts'
export type { Statement, StatementFile, StatementFormat, StatementPeriod, StatementSummary } from './statement.ts'
export type {
  Charge,
  Code,
  Deposit,
  DeliveryAttempt,
  Dispute,
  ErrorCode,
  FullDeposit,
  HeldPayment,
  NewCharge,
  Payout,
  Refund,
  StatementLine,
  StatementTotals,
  Webhook,
  WebhookTest,
} from './types.ts'
export { verify, WebhookVerificationError } from './verify.ts'
export type {
  EventOf,
  GuicheEvent,
  OtherEvent,
  OtherKind,
  VerificationReason,
  VerifyOptions,
  WebhookHeaders,
} from './verify.ts'
export { verifyAsync } from './verify-async.ts'
export type { WaitOptions } from './wait.ts'

export type Guiche = {
  deposits: Deposits
  codes: Codes
  refunds: Refunds
  payouts: Payouts
  disputes: Disputes
  balance: Balance
  statement: Statement
  shop: ShopOfAccount
  webhooks: Webhooks
  events: SentEvents
  /**
   * Calls any operation of the API by its name, with the types of the OpenAPI document. Operations for operators need
   * an operator's key, and have no method of their own.
   */
  call: Call
}

/**
 * The client of one account. It needs only `fetch`, WebCrypto, `AbortSignal` and timers. It holds no connection and no
 * state, so it can be made once or for each request.
 */
export function makeGuiche(options: GuicheOptions): Guiche {
  const call = makeCall(options)
  return {
    deposits: makeDeposits(call, makeOpen(options)),
    codes: makeCodes(call),
    refunds: makeRefunds(call),
    payouts: makePayouts(call),
    disputes: makeDisputes(call),
    balance: makeBalance(call),
    statement: makeStatement(call, makeDownload(options)),
    shop: makeShop(call),
    webhooks: makeWebhooks(call),
    events: makeSentEvents(call),
    call,
  }
}
