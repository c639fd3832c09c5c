// How banks want to be called, as data: the adapter knows one mechanism, and no bank by name.

/** How we log in for a token: HTTP Basic, id and secret in the form, or the client certificate in place of a secret. */
export const LOGINS = ['basic', 'body', 'certificate'] as const
export type Login = (typeof LOGINS)[number]

export type Access = {
  auth: Login
  /** Empty: none is asked for, and the bank decides. */
  scope: string
  /** Parameters of the token request that go into the query of its URL, and not into the form. */
  tokenQuery: readonly ('grant_type' | 'scope')[]
  /** How long a token lives if the bank does not say. */
  tokenSeconds: number
  /** On every call but the one for a token. {clientId} is our client id, and {uuid} a new UUID for each call. */
  headers: Readonly<Record<string, string>>
  query: Readonly<Record<string, string>>
  /** Besides these, to register the address for notifications. */
  webhookHeaders: Readonly<Record<string, string>>
  /** Entries on a page of a list. */
  pageSize: number
  callsPerSecond: number
}

export type BankEnvironment = {
  /** Undefined where the sources disagree or are silent: then it must be set, and is never guessed. */
  url?: string
  tokenUrl?: string
  needsCertificate: boolean
  /** A query parameter of every call whose value the bank gives to each customer. */
  asksQuery?: string
}

export type BankProfile = Access & {
  title: string
  live: BankEnvironment
  test: BankEnvironment
  /** The bank itself signs certificates, so its customers need not send the chain. */
  signsCertificates: boolean
  /** Where this was learnt. */
  source: string
  /** When somebody ran it at the bank; undefined: nobody has. */
  runAtBank?: string
}

/** What API Pix says, and what most banks do. */
export const STANDARD_ACCESS: Access = {
  auth: 'basic',
  scope: 'cob.write cob.read pix.read pix.write webhook.read webhook.write',
  tokenQuery: [],
  // The shortest life that a public client names.
  tokenSeconds: 300,
  headers: {},
  query: {},
  webhookHeaders: {},
  // The most that the standard allows.
  pageSize: 1_000,
  // Providers block callers that exceed their contract; ten is the lowest published limit.
  callsPerSecond: 10,
}

/** For a bank without a profile: Efí, as before there were profiles, and others take no notice of the header. */
export const UNKNOWN_BANK: Access = { ...STANDARD_ACCESS, webhookHeaders: { 'x-skip-mtls-checking': 'true' } }

/** The standard's default, which every bank must serve. */
export const DEFAULT_PAGE = 100
