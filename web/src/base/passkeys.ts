import { auth } from './api.ts'

// What a browser and a passkey do. Browsers read and write the JSON of WebAuthn themselves.

export function hasPasskeys(): boolean {
  return typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential
}

/** True if the person closed the browser's dialog, or it took too long: nothing happened. */
export function isDismissed(error: unknown): boolean {
  return error instanceof DOMException && (error.name === 'NotAllowedError' || error.name === 'AbortError')
}

export async function signInWithPasskey(rememberMe: boolean): Promise<void> {
  const options = await auth.post<PublicKeyCredentialRequestOptionsJSON>('passkey/begin')
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const response = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential
  await auth.post('sign-in/passkey', { response: response.toJSON(), rememberMe })
}

export async function addPasskey(name: string, code: string): Promise<void> {
  const options = await auth.post<PublicKeyCredentialCreationOptionsJSON>('passkeys/begin', { code })
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const response = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential
  await auth.post('passkeys', { name, response: response.toJSON() })
}
