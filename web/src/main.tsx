import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import './style.css'
// This module follows the system's theme on every page.
import './base/theme.ts'
import { setAuthHandlers, trackActivity } from './base/api.ts'
import { trackNetwork } from './base/connection.ts'
import { queryClient } from './base/queries.ts'
import { leaveToSignIn, sessionQuery } from './base/session.ts'
import { router } from './router.tsx'

// Radix adds a style element while a dialog is open; the content security policy allows it only with this nonce.
const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce
if (nonce) setNonce(nonce)

trackActivity()
trackNetwork()
setAuthHandlers({ signedOut: () => leaveToSignIn(router.state.location.href) })
// Requests the session at once, and not only when the code that needs it has loaded.
void queryClient.prefetchQuery(sessionQuery)

const root = document.querySelector('#root')
if (!root) throw new Error('index.html has no #root')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
