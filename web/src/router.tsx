import {
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  redirect,
  type AnyRoute,
  type ErrorComponentProps,
} from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { translations } from './base/language.ts'
import { queryClient } from './base/queries.ts'
import { hasAny, homeOf, mayOpen, sessionQuery } from './base/session.ts'
import type { Me } from './contract/types.ts'
import { overviewQuery } from './account/overview/overview-query.ts'
import { Shell, type NavEntry } from './shell.tsx'
import { ButtonLink } from './ui/button.tsx'
import { Card, Empty, Failure, Page } from './ui/page.tsx'
import { ReauthHost } from './ui/form/reauth-host.tsx'
import * as icons from './ui/icons.tsx'
import { lazyComponent as lazy } from './ui/lazy-component.tsx'
import { Toasts } from './ui/toast.tsx'

/** A shorter wait needs no loading screen. */
const PENDING_AFTER_MS = 400

type Scope = Me['scopes'][number]
type Search = Record<string, string | undefined>

const root = createRootRoute({
  // Everything in the query string is text; each page takes what it knows.
  validateSearch: (search: Record<string, unknown>): Search => search as Search,
  component: Root,
  pendingComponent: Loading,
  notFoundComponent: OutsideNotFound,
  errorComponent: RouteError,
})

/** Everybody may open these pages. */
const open = createRoute({ getParentRoute: () => root, id: 'open' })
/** Only those who are not signed in see these pages. */
const outside = createRoute({
  getParentRoute: () => open,
  id: 'outside',
  beforeLoad: async () => {
    const { me } = await queryClient.ensureQueryData(sessionQuery)
    if (me) throw redirect({ to: homeOf(me) })
  },
})

/** Signed-in users of either kind see these pages. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  component: () => <Shell navigation={navigation} />,
  beforeLoad: async ({ location }) => {
    const me = await requireMe(location)
    if (!mayOpen(me, location.pathname)) throw redirect({ to: homeOf(me) })
    return { me }
  },
})

/** A page of account holders without the frame. */
const counter = createRoute({
  getParentRoute: () => root,
  id: 'account',
  beforeLoad: async ({ location }) => {
    const me = await requireMe(location)
    if (me.kind !== 'account') throw redirect({ to: homeOf(me) })
  },
})

async function requireMe({ href }: { href: string }): Promise<Me> {
  const { me } = await queryClient.ensureQueryData(sessionQuery)
  if (!me) throw redirect({ to: '/sign-in', search: href === '/' ? {} : { to: href } })
  return me
}

/** Only one kind of user sees these pages; the other goes to its own home page. */
function only<const Kind extends Me['kind']>(kind: Kind) {
  return createRoute({
    getParentRoute: () => inside,
    id: kind,
    beforeLoad: ({ context: { me } }) => {
      if (me.kind !== kind) throw redirect({ to: homeOf(me) })
    },
  })
}
const account = only('account')
const operator = only('operator')

/** The entries of the navigation, in the order of the pages below. */
const navigation: NavEntry[] = []

/**
 * A page of a branch. Its code is loaded when it is first opened, or when the pointer is over a link to it. With an
 * `entry` it is in the navigation: icon, Portuguese, English, and what fits on a phone. Members whose role has none of
 * the `scopes` do not see it. `start` asks for its data, while its code loads and is drawn.
 */
function page<Parent extends AnyRoute, const Path extends string>(
  parent: Parent,
  path: Path,
  component: () => ReactNode,
  entry?: [icon: icons.Icon, pt: string, en: string, short?: string],
  scopes: readonly Scope[] = [],
  start?: () => void,
) {
  if (entry) {
    const [icon, pt, en, short] = entry
    const { id: branch = '' } = parent.options as { id?: string }
    navigation.push({ to: path, branch, icon, label: [pt, en], short, scopes })
  }
  return createRoute({
    getParentRoute: () => parent,
    path,
    component,
    beforeLoad: async () => {
      if (scopes.length === 0) return
      const { me } = await queryClient.ensureQueryData(sessionQuery)
      if (me && !hasAny(me, scopes)) throw redirect({ to: homeOf(me) })
    },
    loader: () => start?.(),
  })
}

const DevelopersPage = lazy(() => import('./account/developers/developers-page.tsx'), 'DevelopersPage')

// One line per page: dashboard-pages-browser.test.ts reads them and visits each.
// oxfmt-ignore
const tree = root.addChildren([
  open.addChildren([
    outside.addChildren([
      page(outside, '/sign-in', lazy(() => import('./sign-in/sign-in-page.tsx'), 'SignInPage')),
      page(outside, '/sign-up', lazy(() => import('./sign-in/sign-up-page.tsx'), 'SignUpPage')),
      page(outside, '/two-factor', lazy(() => import('./sign-in/two-factor-page.tsx'), 'TwoFactorPage')),
    ]),
    page(open, '/forgot-password', lazy(() => import('./sign-in/forgot-password-page.tsx'), 'ForgotPasswordPage')),
    page(open, '/reset-password', lazy(() => import('./sign-in/reset-password-page.tsx'), 'ResetPasswordPage')),
    page(open, '/join', lazy(() => import('./sign-in/join-page.tsx'), 'JoinPage')),
    page(open, '/verify-email', lazy(() => import('./sign-in/verify-email-page.tsx'), 'VerifyEmailPage')),
  ]),
  inside.addChildren([
    account.addChildren([
      page(account, '/', lazy(() => import('./account/overview/overview-page.tsx'), 'OverviewPage'), [icons.OverviewIcon, 'Visão geral', 'Overview'], ['balance:read'], () => void queryClient.prefetchQuery(overviewQuery)),
      page(account, '/deposits', lazy(() => import('./account/deposits/deposits-page.tsx'), 'DepositsPage'), [icons.DepositIcon, 'Depósitos', 'Deposits']),
      page(account, '/deposits/$paymentLinkId', lazy(() => import('./account/deposits/deposit-page.tsx'), 'DepositPage')),
      page(account, '/statement', lazy(() => import('./account/statement/statement-page.tsx'), 'StatementPage'), [icons.StatementIcon, 'Extrato', 'Statement'], ['balance:read']),
      page(account, '/payouts', lazy(() => import('./account/payouts/payouts-page.tsx'), 'PayoutsPage'), [icons.PayoutIcon, 'Repasses', 'Payouts'], ['payouts:read']),
      page(account, '/disputes', lazy(() => import('./account/disputes/disputes-page.tsx'), 'DisputesPage'), [icons.ChatIcon, 'Contestações', 'Disputes'], ['deposits:read']),
      page(account, '/disputes/$disputeId', lazy(() => import('./account/disputes/dispute-page.tsx'), 'DisputePage'), undefined, ['deposits:read']),
      page(account, '/codes', lazy(() => import('./account/codes/codes-page.tsx'), 'CodesPage'), [icons.QrIcon, 'Códigos', 'Codes'], ['deposits:read']),
      page(account, '/codes/$externalId', lazy(() => import('./account/codes/code-page.tsx'), 'CodePage'), undefined, ['deposits:read']),
      page(account, '/statement/print', lazy(() => import('./account/statement/print-page.tsx'), 'PrintPage'), undefined, ['balance:read']),
      // One page with tabs: the rest of the path names the tab.
      page(account, '/developers', DevelopersPage, [icons.CodeIcon, 'API e webhooks', 'API and webhooks', 'API'], ['events:read']),
      page(account, '/developers/$', DevelopersPage, undefined, ['events:read']),
      page(account, '/shop', lazy(() => import('./account/shop/shop-page.tsx'), 'ShopPage'), [icons.ShopIcon, 'Minha loja', 'My shop', 'Loja'], ['shop:write']),
      page(account, '/team', lazy(() => import('./account/team/team-page.tsx'), 'TeamPage'), [icons.PeopleIcon, 'Equipe', 'Team'], ['members:read']),
    ]),
    operator.addChildren([
      page(operator, '/operator', lazy(() => import('./operator/overview/overview-page.tsx'), 'OperatorOverviewPage'), [icons.OverviewIcon, 'Visão geral', 'Overview']),
      page(operator, '/operator/deposits', lazy(() => import('./operator/deposits/charges-page.tsx'), 'ChargesPage'), [icons.DepositIcon, 'Cobranças', 'Charges']),
      page(operator, '/operator/deposits/$paymentLinkId', lazy(() => import('./operator/deposits/charge-page.tsx'), 'ChargePage')),
      page(operator, '/operator/accounts', lazy(() => import('./operator/accounts/accounts-page.tsx'), 'AccountsPage'), [icons.PeopleIcon, 'Contas', 'Accounts']),
      page(operator, '/operator/accounts/$accountId', lazy(() => import('./operator/accounts/account-page.tsx'), 'AccountPage')),
      page(operator, '/operator/exceptions', lazy(() => import('./operator/exceptions/exceptions-page.tsx'), 'ExceptionsPage'), [icons.WarningIcon, 'Exceções', 'Exceptions']),
      page(operator, '/operator/exceptions/$exceptionId', lazy(() => import('./operator/exceptions/exception-page.tsx'), 'ExceptionPage')),
      page(operator, '/operator/payouts', lazy(() => import('./operator/payouts/payouts-page.tsx'), 'OperatorPayoutsPage'), [icons.PayoutIcon, 'Repasses', 'Payouts']),
      page(operator, '/operator/reversals', lazy(() => import('./operator/reversals/reversals-page.tsx'), 'ReversalsPage'), [icons.ArrowLeftIcon, 'Devoluções', 'Reversals']),
      page(operator, '/operator/disputes', lazy(() => import('./operator/disputes/disputes-page.tsx'), 'OperatorDisputesPage'), [icons.ChatIcon, 'Contestações', 'Disputes']),
      page(operator, '/operator/disputes/$disputeId', lazy(() => import('./operator/disputes/dispute-page.tsx'), 'OperatorDisputePage')),
      page(operator, '/operator/reconciliation', lazy(() => import('./operator/reconciliation/reconciliation-page.tsx'), 'ReconciliationPage'), [icons.ScalesIcon, 'Conciliação', 'Reconciliation']),
      page(operator, '/operator/reconciliation/$day', lazy(() => import('./operator/reconciliation/closing-page.tsx'), 'ClosingPage')),
      page(operator, '/operator/providers', lazy(() => import('./operator/health/health-page.tsx'), 'HealthPage'), [icons.ShieldIcon, 'Saúde', 'Health']),
      page(operator, '/operator/webhooks', lazy(() => import('./operator/webhooks/webhooks-page.tsx'), 'OperatorWebhooksPage'), [icons.WebhookIcon, 'Webhooks', 'Webhooks']),
      page(operator, '/operator/audit-log', lazy(() => import('./operator/audit-log/audit-log-page.tsx'), 'AuditLogPage'), [icons.LogIcon, 'Auditoria', 'Audit log']),
    ]),
    page(inside, '/notices', lazy(() => import('./account/notices/notices-page.tsx'), 'NoticesPage')),
    page(inside, '/guide', lazy(() => import('./account/guide/guide-page.tsx'), 'GuidePage'), [icons.BookIcon, 'Documentação', 'Docs']),
    page(inside, '/settings', lazy(() => import('./account/settings/settings-page.tsx'), 'SettingsPage'), [icons.SettingsIcon, 'Configurações', 'Settings']),
    page(inside, '/$', NotFound),
  ]),
  counter.addChildren([
    page(counter, '/counter', lazy(() => import('./account/counter/counter-page.tsx'), 'CounterPage'), [icons.KeypadIcon, 'Balcão', 'Counter'], ['deposits:write', 'deposits:today']),
  ]),
])

/** The counter, which is last in the tree, comes after the overview and the deposits. */
navigation.splice(2, 0, ...navigation.splice(-1))

export const router = createRouter({
  routeTree: tree,
  defaultPreload: 'intent',
  defaultPendingMs: PENDING_AFTER_MS,
  scrollRestoration: true,
  // The router's own format would write "5000" with quotes.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search: Record<string, unknown>) => {
    const entries = Object.entries(search).filter(([, value]) => typeof value === 'string' && value !== '')
    return entries.length === 0 ? '' : `?${new URLSearchParams(entries as [string, string][])}`
  },
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

const useTexts = translations({
  notFound: ['Página não encontrada', 'Page not found'],
  checkAddress: ['Confira o endereço: pode faltar uma parte.', 'Check the address: part of it may be missing.'],
  home: ['Ir para a página inicial', 'Go to the home page'],
})

function Root() {
  return (
    <>
      <Outlet />
      <ReauthHost />
      <Toasts />
    </>
  )
}

function NotFound() {
  const t = useTexts()
  return (
    <Page title={t.notFound}>
      <Card>
        <Empty title={t.checkAddress} action={<ButtonLink to="/">{t.home}</ButtonLink>} icon={icons.SearchIcon} />
      </Card>
    </Page>
  )
}

/** Has no shell, because nobody is signed in. */
function OutsideNotFound() {
  return (
    <main className="p-6">
      <NotFound />
    </main>
  )
}

function RouteError({ error }: ErrorComponentProps) {
  return (
    <main>
      <h1 className="sr-only">guiche</h1>
      <Failure error={error} onRetry={() => location.reload()} />
    </main>
  )
}

/** Shown until it is known who is signed in. */
function Loading() {
  return (
    <div className="flex min-h-dvh items-center justify-center">
      <icons.Logo className="size-12 animate-sheen" />
    </div>
  )
}
