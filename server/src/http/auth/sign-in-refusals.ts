export const AUTH_PATH = '/dashboard/api/auth'
export const HIDDEN = { hide: true } as const
/** For those who are about to give the password, or have none yet. */
export const NOT_FRESH = { fresh: false } as const

/** What the pages for signing in show in their own words. */
export class SignInRefusal extends Error {
  override name = 'SignInRefusal'
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

export const WRONG_CODE = new SignInRefusal(401, 'INVALID_CODE', 'Invalid code')
