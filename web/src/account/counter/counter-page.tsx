import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { newIdempotencyKey } from '../../base/api.ts'
import { useLostSince } from '../../base/connection.ts'
import { useFormat } from '../../base/format.ts'
import { followHistory } from '../../base/history.ts'
import { translations } from '../../base/language.ts'
import { refresh, useGet } from '../../base/queries.ts'
import { useMe, useService } from '../../base/session.ts'
import type { CounterDeposit, Shop, Takings } from '../../contract/types.ts'
import { useTitle } from '../../ui/page.tsx'
import { SandboxBanner } from '../../ui/sandbox-banner.tsx'
import { useDepositErrorText } from '../deposits/deposit-errors.ts'
import { useShop } from '../shop/shop.ts'
import { made } from './ask.ts'
import { allowSound, useWakeLock } from './attention.ts'
import { CounterHeader } from './counter-header.tsx'
import { Keypad, type Typed } from './keypad.tsx'
import { AskedScreen, MadeScreen } from './sale-screen.tsx'
import { TakingsScreen } from './takings-screen.tsx'
import { metadataOf, nameOf, replaceSale, tillOf, type Sale, type Till } from './till.ts'

const useTexts = translations({
  title: ['Balcão', 'Counter'],
  lost: (time: string) => [
    `Sem conexão desde ${time}. Nada se perde e nada é cobrado duas vezes.`,
    `No connection since ${time}. Nothing is lost, and nothing is charged twice.`,
  ],
  secondFactor: ['Sua conta exige verificação em duas etapas.', 'Your account requires two-step verification.'],
  setUp: ['Ativar agora', 'Turn it on now'],
})

/** Where payments are taken in person: one charge at a time, and what was taken. */
export function CounterPage() {
  const t = useTexts()
  useTitle(t.title)
  useWakeLock()
  useEffect(followHistory, [])
  const till = tillOf(useMe().accountId ?? '')
  const sale = till.sale.use()
  const shift = till.shift.use()
  const [isCounting, setCounting] = useState(false)
  const takings = useTakings(shift?.id, isCounting)
  const turn = () => {
    setCounting(!isCounting)
    // Other tills have taken something since.
    void refresh(['takings'])
  }
  return (
    <div className="flex min-h-dvh flex-col">
      <SandboxBanner />
      <Bars />
      {!sale && <CounterHeader till={till} isCounting={isCounting} onTurn={turn} />}
      <main className="flex grow flex-col">
        {!sale && isCounting ? (
          <TakingsScreen till={till} takings={takings} onOpen={(deposit) => till.sale.set(shownAgain(deposit))} />
        ) : (
          <Charging till={till} sale={sale} limits={takings.data} />
        )}
      </main>
    </div>
  )
}

/** The keypad needs only the limits: what was taken since is read when somebody looks at it. */
function useTakings(shift: string | undefined, isShown: boolean) {
  return useGet<Takings>(['takings', shift], '/counter/takings', {
    query: { shift },
    enabled: ({ state }) => isShown || state.data === undefined,
  })
}

function shownAgain({ status, ...deposit }: CounterDeposit): Sale {
  return made({ ...deposit, emv: null }, { isNew: false, isPaid: status === 'COMPLETED' })
}

/** The first charge waits so long for what the shop says, and goes on without it. */
const SHOP_WITHIN_MS = 2_000

function withinMs<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  return Promise.race([promise, new Promise<undefined>((resolve) => setTimeout(resolve, ms))])
}

const NOTHING: Typed = { cents: 0, description: '' }

function Charging({ till, sale, limits }: { till: Till; sale: Sale | undefined; limits: Takings | undefined }) {
  const shop = useShop()
  const { chargeMaxExpiresSeconds } = useService()
  const errorText = useDepositErrorText()
  const [typed, setTyped] = useState<Typed>()
  const [refusal, setRefusal] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const known = shop.data?.shop
  const shown = typed ?? { ...NOTHING, description: known?.defaultDescription ?? '' }
  const begin = async () => {
    if (isBusy) return
    allowSound()
    setRefusal(undefined)
    setBusy(true)
    const settled = shop.isLoading ? await withinMs(SHOP_WITHIN_MS, shop.refetch({ cancelRefetch: false })) : shop
    setBusy(false)
    till.sale.set({
      step: 'asked',
      key: newIdempotencyKey(),
      body: { ...bodyOf(shown, settled?.data?.shop, chargeMaxExpiresSeconds), metadata: metadataOf(till) },
      askedMs: Date.now(),
      mayExist: false,
    })
    setTyped(undefined)
  }
  const next = (again?: Typed) => {
    if (sale) replaceSale(till, sale, undefined)
    setTyped(again)
    void refresh(['takings'])
  }
  if (sale?.step === 'made')
    return (
      <MadeScreen
        key={nameOf(sale)}
        till={till}
        sale={sale}
        onNext={() => next()}
        onAgain={() => next({ ...NOTHING, cents: sale.charge.value })}
      />
    )
  if (sale)
    return (
      <AskedScreen
        key={nameOf(sale)}
        till={till}
        sale={sale}
        onEnd={(error) => {
          setRefusal(error)
          next({ cents: sale.body.value, description: sale.body.description ?? '' })
        }}
      />
    )
  return (
    <Keypad
      typed={shown}
      onType={(next) => {
        setTyped(next)
        setRefusal(undefined)
      }}
      onCharge={() => void begin()}
      isBusy={isBusy}
      limits={limits}
      refusal={refusal === undefined ? '' : errorText(refusal)}
    />
  )
}

function bodyOf({ cents, description }: Typed, shop: Shop | undefined, maxSeconds: number) {
  const text = description.trim()
  const expiresIn = shop?.defaultExpiresIn ?? null
  return {
    value: cents,
    ...(text && { description: text }),
    // The operator may have lowered the limit since.
    ...(expiresIn !== null && expiresIn <= maxSeconds && { expiresIn }),
  }
}

/** What is wrong, above everything else. */
function Bars() {
  const t = useTexts()
  const { time } = useFormat()
  const lostSince = useLostSince()
  const { mustSetUpSecondFactor } = useMe()
  const bar =
    'figures flex flex-wrap items-center justify-center gap-x-2 bg-wait-ground px-4 py-1.5 text-center text-sm font-semibold text-wait'
  return (
    <div role="status" className="sticky top-0 z-30">
      {lostSince !== undefined && <p className={bar}>{t.lost(time(new Date(lostSince).toISOString()))}</p>}
      {mustSetUpSecondFactor && (
        <p className={bar}>
          {t.secondFactor}{' '}
          <Link to="/settings" className="inline-flex min-h-11 items-center underline">
            {t.setUp}
          </Link>
        </p>
      )}
    </div>
  )
}
