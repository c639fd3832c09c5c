import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Outlet,
  redirect,
  type ErrorComponentProps,
} from '@tanstack/react-router'
import { words } from './base/language.ts'
import { homeOf, sessionQuery } from './base/session.ts'
import { Shell } from './shell.tsx'
import { ButtonLink } from './ui/button.tsx'
import { Card } from './ui/card.tsx'
import { Logo, SearchIcon } from './ui/icons.tsx'
import { lazyPage } from './ui/lazy-page.tsx'
import { Page } from './ui/page.tsx'
import { PasswordDoor } from './ui/password-door.tsx'
import { Empty, Failure } from './ui/table.tsx'
import { Toasts } from './ui/toast.tsx'

/** A wait shorter than this is not worth a picture of one. */
const WAIT_UNSEEN_MS = 400

type Search = Record<string, string | undefined>
type RouterContext = { queryClient: QueryClient }

const root = createRootRouteWithContext<RouterContext>()({
  // Whatever stands in the address is text; each page takes what it knows.
  validateSearch: (search: Record<string, unknown>): Search => search as Search,
  component: Root,
  pendingComponent: Waiting,
  notFoundComponent: Nowhere,
  errorComponent: Broken,
})

/** For everybody: signing in and what belongs to it. Whoever is signed in has no business there. */
const open = createRoute({ getParentRoute: () => root, id: 'open' })
const outside = createRoute({
  getParentRoute: () => open,
  id: 'outside',
  beforeLoad: async ({ context }) => {
    const { me } = await context.queryClient.ensureQueryData(sessionQuery)
    if (me) throw redirect({ to: homeOf(me) })
  },
})

/** For whoever is signed in, of either kind. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    const { me } = await context.queryClient.ensureQueryData(sessionQuery)
    if (!me) throw redirect({ to: '/sign-in', search: location.href === '/' ? {} : { to: location.href } })
    return { me }
  },
})
const account = createRoute({
  getParentRoute: () => inside,
  id: 'account',
  beforeLoad: ({ context }) => {
    if (context.me.kind !== 'account') throw redirect({ to: '/operator' })
  },
})
const operator = createRoute({
  getParentRoute: () => inside,
  id: 'operator',
  beforeLoad: ({ context }) => {
    if (context.me.kind !== 'operator') throw redirect({ to: '/' })
  },
})

const tree = root.addChildren([
  open.addChildren([
    outside.addChildren([
      createRoute({
        getParentRoute: () => outside,
        path: '/sign-in',
        component: lazyPage(() => import('./pages/sign-in.tsx'), 'SignInPage'),
      }),
      createRoute({
        getParentRoute: () => outside,
        path: '/sign-up',
        component: lazyPage(() => import('./pages/sign-up.tsx'), 'SignUpPage'),
      }),
      createRoute({
        getParentRoute: () => outside,
        path: '/two-factor',
        component: lazyPage(() => import('./pages/two-factor.tsx'), 'TwoFactorPage'),
      }),
    ]),
    createRoute({
      getParentRoute: () => open,
      path: '/forgot-password',
      component: lazyPage(() => import('./pages/forgot-password.tsx'), 'ForgotPasswordPage'),
    }),
    createRoute({
      getParentRoute: () => open,
      path: '/reset-password',
      component: lazyPage(() => import('./pages/reset-password.tsx'), 'ResetPasswordPage'),
    }),
    createRoute({
      getParentRoute: () => open,
      path: '/verify-email',
      component: lazyPage(() => import('./pages/verify-email.tsx'), 'VerifyEmailPage'),
    }),
  ]),
  inside.addChildren([
    createRoute({
      getParentRoute: () => inside,
      path: '/guide',
      component: lazyPage(() => import('./pages/guide.tsx'), 'GuidePage'),
    }),
    // Within the frame, so that the way on is in sight.
    createRoute({ getParentRoute: () => inside, path: '/$', component: NotFound }),
    createRoute({
      getParentRoute: () => inside,
      path: '/settings',
      component: lazyPage(() => import('./pages/settings.tsx'), 'SettingsPage'),
    }),
    account.addChildren([
      createRoute({
        getParentRoute: () => account,
        path: '/',
        component: lazyPage(() => import('./pages/overview.tsx'), 'OverviewPage'),
      }),
      createRoute({
        getParentRoute: () => account,
        path: '/deposits',
        component: lazyPage(() => import('./pages/deposits.tsx'), 'DepositsPage'),
      }),
      createRoute({
        getParentRoute: () => account,
        path: '/deposits/$paymentLinkId',
        component: lazyPage(() => import('./pages/deposit.tsx'), 'DepositPage'),
      }),
      createRoute({
        getParentRoute: () => account,
        path: '/statement',
        component: lazyPage(() => import('./pages/statement.tsx'), 'StatementPage'),
      }),
      createRoute({
        getParentRoute: () => account,
        path: '/developers',
        component: lazyPage(() => import('./pages/developers.tsx'), 'DevelopersPage'),
      }),
      // One page with parts: which part is the rest of the path.
      createRoute({
        getParentRoute: () => account,
        path: '/developers/$',
        component: lazyPage(() => import('./pages/developers.tsx'), 'DevelopersPage'),
      }),
    ]),
    operator.addChildren([
      createRoute({
        getParentRoute: () => operator,
        path: '/operator',
        component: lazyPage(() => import('./pages/operator/overview.tsx'), 'OperatorOverviewPage'),
      }),
      createRoute({
        getParentRoute: () => operator,
        path: '/operator/accounts',
        component: lazyPage(() => import('./pages/operator/accounts.tsx'), 'AccountsPage'),
      }),
      createRoute({
        getParentRoute: () => operator,
        path: '/operator/accounts/$accountId',
        component: lazyPage(() => import('./pages/operator/account.tsx'), 'AccountPage'),
      }),
      createRoute({
        getParentRoute: () => operator,
        path: '/operator/exceptions',
        component: lazyPage(() => import('./pages/operator/exceptions.tsx'), 'ExceptionsPage'),
      }),
      createRoute({
        getParentRoute: () => operator,
        path: '/operator/exceptions/$exceptionId',
        component: lazyPage(() => import('./pages/operator/exception.tsx'), 'ExceptionPage'),
      }),
      createRoute({
        getParentRoute: () => operator,
        path: '/operator/reconciliation',
        component: lazyPage(() => import('./pages/operator/reconciliation.tsx'), 'ReconciliationPage'),
      }),
      createRoute({
        getParentRoute: () => operator,
        path: '/operator/reconciliation/$day',
        component: lazyPage(() => import('./pages/operator/reconciliation-day.tsx'), 'ReconciliationDayPage'),
      }),
      createRoute({
        getParentRoute: () => operator,
        path: '/operator/providers',
        component: lazyPage(() => import('./pages/operator/providers.tsx'), 'ProvidersPage'),
      }),
      createRoute({
        getParentRoute: () => operator,
        path: '/operator/webhooks',
        component: lazyPage(() => import('./pages/operator/webhooks.tsx'), 'OperatorWebhooksPage'),
      }),
      createRoute({
        getParentRoute: () => operator,
        path: '/operator/audit-log',
        component: lazyPage(() => import('./pages/operator/audit-log.tsx'), 'AuditLogPage'),
      }),
    ]),
  ]),
])

export function makeRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { queryClient },
    defaultPreload: 'intent',
    defaultPendingMs: WAIT_UNSEEN_MS,
    scrollRestoration: true,
    // Plain text, as everywhere else on the web: the router's own way would write "5000" with quotes.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search: Record<string, unknown>) => {
      const entries = Object.entries(search).filter(([, value]) => typeof value === 'string' && value !== '')
      return entries.length === 0 ? '' : `?${new URLSearchParams(entries as [string, string][])}`
    },
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>
  }
}

const useWords = words({
  'pt-BR': {
    notFound: 'Página não encontrada',
    checkAddress: 'Confira o endereço: pode faltar um pedaço dele.',
    home: 'Ir para o início',
  },
  en: {
    notFound: 'Page not found',
    checkAddress: 'Check the address: a part of it may be missing.',
    home: 'Go to the start',
  },
})

function Root() {
  return (
    <>
      <Outlet />
      <PasswordDoor />
      <Toasts />
    </>
  )
}

function NotFound() {
  const t = useWords()
  return (
    <Page title={t.notFound}>
      <Card>
        <Empty
          title={t.checkAddress}
          action={<ButtonLink to="/">{t.home}</ButtonLink>}
          icon={<SearchIcon className="size-6" />}
        />
      </Card>
    </Page>
  )
}

/** Where nobody is signed in, and there is no frame. */
function Nowhere() {
  return (
    <main className="p-6">
      <NotFound />
    </main>
  )
}

function Broken({ error }: ErrorComponentProps) {
  return (
    <main>
      <h1 className="sr-only">guiche</h1>
      <Failure error={error} onRetry={() => location.reload()} />
    </main>
  )
}

/** Where even the frame is not known yet. */
function Waiting() {
  return (
    <div className="flex min-h-dvh items-center justify-center">
      <Logo className="size-12 animate-sheen" />
    </div>
  )
}
