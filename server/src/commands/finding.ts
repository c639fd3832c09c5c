/** A warning does not change the exit code. */
export type Finding = { mark: '✓' | '!' | '✗'; what: string; text: string }

export const fine = (what: string, text: string): Finding => ({ mark: '✓', what, text })
export const warning = (what: string, text: string): Finding => ({ mark: '!', what, text })
export const wrong = (what: string, text: string): Finding => ({ mark: '✗', what, text })
