import { useMutation } from '@tanstack/react-query'
import { useErrorText } from '../base/error-text.ts'
import { translations } from '../base/language.ts'
import { hasPasskeys, isDismissed, signInWithPasskey } from '../base/passkeys.ts'
import { Button } from '../ui/button.tsx'
import { KeyIcon } from '../ui/icons.tsx'
import { useAfterSignIn } from './auth-layout.tsx'

const useTexts = translations({
  use: ['Entrar com passkey', 'Sign in with a passkey'],
  unknown: [
    'Esta passkey não vale mais aqui. Entre com a senha.',
    'This passkey does not work here any more. Sign in with your password.',
  ],
})

/** Signs in without a password, and in place of a code. Browsers without passkeys do not show it. */
export function PasskeyButton({ rememberMe = true }: { rememberMe?: boolean }) {
  const t = useTexts()
  const errorText = useErrorText()
  const afterSignIn = useAfterSignIn()
  const signIn = useMutation({ mutationFn: () => signInWithPasskey(rememberMe), onSuccess: afterSignIn })
  if (!hasPasskeys()) return null
  const isUnknown = signIn.error !== null && 'code' in signIn.error && signIn.error.code === 'INVALID_PASSKEY'
  return (
    <div className="mt-3">
      <Button icon={KeyIcon} className="w-full" isBusy={signIn.isPending} onClick={() => signIn.mutate()}>
        {t.use}
      </Button>
      {signIn.error && !isDismissed(signIn.error) && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {isUnknown ? t.unknown : errorText(signIn.error)}
        </p>
      )}
    </div>
  )
}
