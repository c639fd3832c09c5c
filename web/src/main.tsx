import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { setNonce } from 'get-nonce'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError, noticeTouches, setDoors } from './base/api.ts'
import { leaveToSignIn, sessionQuery } from './base/session.ts'
import { makeRouter } from './router.tsx'
import './style.css'
// On every page: it follows the system when that turns dark.
import './base/theme.ts'

// Radix keeps the page behind a dialog from scrolling by a style element, which the policy allows with this number only.
const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce
if (nonce) setNonce(nonce)

/** Reading again is harmless. What the server has refused it will refuse again, and what changes something is never repeated. */
const RETRIES = 2
const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (count, error) =>
        count < RETRIES &&
        error instanceof ApiError &&
        (error.status === 0 || error.status === 502 || error.status === 503),
    },
    mutations: { retry: false },
  },
})
const router = makeRouter(queryClient)
noticeTouches()
setDoors({ signedOut: () => leaveToSignIn(router.state.location.href) })
// Asked for at once, and not only when the code that needs it has arrived.
void queryClient.prefetchQuery(sessionQuery)

createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
