import { useState } from 'react'
import { ApiError, isCanceled, post } from '../../base/api.ts'
import { useErrorText } from '../../base/error-text.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { refresh } from '../../base/queries.ts'
import type { Exception, Resolution, ResolveResult } from '../../contract/types.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Money } from '../../ui/data/values.tsx'
import { Dialog } from '../../ui/form/dialog.tsx'
import { FormDialog } from '../../ui/form/form-dialog.tsx'
import { Checkbox, Input } from '../../ui/form/form.tsx'
import { RadioCard } from '../../ui/form/radio-card.tsx'
import { Notice } from '../../ui/notice.tsx'
import { useLabels } from '../labels.tsx'
import { canClose, DECIDED, inOrder, useRefusalTexts } from './resolve.tsx'

const useTexts = translations({
  title: (count: string) => [`Resolver ${count} exceções`, `Resolve ${count} exceptions`],
  legend: ['O que fazer com o dinheiro', 'What to do with the money'],
  fits: (fitting: string, all: string, amount: string) => [
    `${fitting} de ${all}, ${amount}`,
    `${fitting} of ${all}, ${amount}`,
  ],
  books: ['O que será lançado', 'What will be booked'],
  booked: {
    match: (amount: string) => [
      `${amount} saem da conta transitória e concluem as cobranças, menos as tarifas. Cada uma passa a paga.`,
      `${amount} leaves suspense and completes the charges, net of their fees. Each becomes paid.`,
    ],
    credit: (amount: string) => [
      `${amount} saem da conta transitória. Cada valor entra no saldo da conta da sua cobrança, sem tarifa.`,
      `${amount} leaves suspense. Each amount is credited to the account of its charge, without a fee.`,
    ],
    refund: (amount: string) => [
      `${amount} saem da conta transitória e são devolvidos aos pagadores. O que um provedor recusar volta, e a exceção fica pendente.`,
      `${amount} leaves suspense and is refunded to the payers. What a provider declines returns, and its exception reopens.`,
    ],
    write_off: (amount: string) => [
      `Baixa de ${amount}: o que chegou vira receita da operação, o que foi devolvido fora do guiche vira perda.`,
      `${amount} is written off: what arrived is operator income, what was refunded outside guiche is an operator loss.`,
    ],
  },
  others: (count: string) => [
    `${count} não podem ser resolvidas assim e ficam como estão.`,
    `${count} cannot be resolved this way and stay as they are.`,
  ],
  final: [
    'Cada uma é decidida por si, e não dá para desfazer.',
    'Each is decided by itself, and this cannot be undone.',
  ],
  close: ['Encerrar as cobranças ainda abertas', 'Close the charges that are still open'],
  closeText: [
    'Se continuarem abertas, os pagadores podem pagar de novo.',
    'If they stay open, their payers may pay again.',
  ],
  reason: ['Motivo', 'Reason'],
  reasonHint: [
    'Fica registrado na auditoria, com o seu nome e a hora, em cada exceção.',
    'Recorded in the audit log with your name and the time, for each exception.',
  ],
  progress: (done: string, all: string) => [`${done} de ${all} enviadas…`, `${done} of ${all} sent…`],
  outcome: ['Resultado', 'Outcome'],
  summary: (decided: string, all: string) => [`${decided} de ${all} decididas.`, `${decided} of ${all} decided.`],
  results: {
    resolved: ['Resolvida', 'Resolved'],
    resolving: ['Devolução em andamento', 'Refund in progress'],
    refused: ['Não resolvida', 'Not resolved'],
  },
  unanswered: ['Sem resposta', 'No answer'],
  unansweredText: [
    'O servidor não respondeu sobre estas. Tentar de novo não decide nada duas vezes.',
    'The server did not answer for these. Trying again decides nothing twice.',
  ],
  retry: ['Tentar de novo', 'Try again'],
  ready: ['Pronto', 'Done'],
})

/** So that a person sees progress, and no answer takes long. */
const AT_ONCE = 5
const SHARED = ['match', 'credit', 'refund', 'write_off'] as const
type Shared = (typeof SHARED)[number]
const TONES = { resolved: 'good', resolving: 'mark', refused: 'bad' } as const

type Props = { exceptions: readonly Exception[]; onClose: () => void }

/** Decides several alike. What a way does not fit stays as it is. */
export function ResolveMany({ exceptions: all, onClose }: Props) {
  const t = useTexts()
  const labels = useLabels()
  const { count, money } = useFormat()
  const [how, setHow] = useState<Shared>()
  const [closing, setClosing] = useState<boolean>()
  const [reason, setReason] = useState('')
  const sending = useSending()
  const fitting = how ? fittingOf(all, how) : []
  const canCloseSome = fitting.some((exception) => canClose(exception, how))
  // After a refund the payer may pay the right amount; after anything else they would pay twice.
  const closes = canCloseSome && (closing ?? how !== 'refund')
  const send = () =>
    sending.send(fitting, { how, reason: reason.trim(), ...(closes && how !== 'match' && { charge: 'close' }) })
  const { results, error } = sending
  if (sending.isOver)
    return <Outcome exceptions={fitting} results={results} error={error} onRetry={send} onClose={onClose} />
  return (
    <FormDialog
      isWide
      title={t.title(count(all.length))}
      action={how ? labels.resolution[how] : t.title(count(all.length))}
      isDanger={how === 'write_off'}
      canSend={fitting.length > 0 && reason.trim() !== ''}
      onSend={send}
      progress={<p className="figures text-soft">{t.progress(count(results.size), count(fitting.length))}</p>}
      onClose={onClose}
    >
      <fieldset className="space-y-2">
        <legend className="mb-2 text-sm text-soft">{t.legend}</legend>
        {inOrder(SHARED.filter((way) => fittingOf(all, way).length > 0)).map((way) => {
          const those = fittingOf(all, way)
          return (
            <RadioCard
              key={way}
              name="how"
              isChosen={how === way}
              onChoose={() => setHow(way as Shared)}
              title={labels.resolution[way]}
              text={t.fits(count(those.length), count(all.length), money(sumOf(those)))}
            />
          )
        })}
      </fieldset>
      {how && (
        <Notice tone="mark" title={t.books}>
          <p className="figures">{t.booked[how](money(sumOf(fitting)))}</p>
          {fitting.length < all.length && <p className="mt-2">{t.others(count(all.length - fitting.length))}</p>}
          <p className="mt-2 font-semibold">{t.final}</p>
        </Notice>
      )}
      {canCloseSome && <Checkbox label={t.close} hint={t.closeText} value={closes} onChange={setClosing} />}
      <Input label={t.reason} hint={t.reasonHint} value={reason} onChange={setReason} maxLength={500} required />
    </FormDialog>
  )
}

function fittingOf(exceptions: readonly Exception[], how: Resolution): Exception[] {
  return exceptions.filter(({ ways, charge }) => ways.includes(how) && (how !== 'credit' || charge !== null))
}

function sumOf(exceptions: readonly Exception[]): number {
  return exceptions.reduce((sum, { value }) => sum + value, 0)
}

type Sending = { results: ReadonlyMap<string, ResolveResult>; error: Error | undefined }

/** Sends some at a time. After a failure the rest is not sent; what was answered stays answered. */
function useSending() {
  const [results, setResults] = useState<Sending['results']>(new Map())
  const [over, setOver] = useState<{ error: Error | undefined }>()
  const send = async (exceptions: readonly Exception[], decision: object) => {
    const known = new Map(results)
    let error: Error | undefined
    try {
      const waiting = exceptions.filter(({ id }) => !known.has(id)).map(({ id }) => id)
      while (waiting.length > 0) {
        const body = { ids: waiting.splice(0, AT_ONCE), ...decision }
        const answer = await post<{ results: ResolveResult[] }>('/operator/exceptions/resolve', body)
        for (const result of answer.results) known.set(result.id, result)
        setResults(new Map(known))
      }
    } catch (failure) {
      // Before anything was sent, such as without the password: the form stays.
      if (known.size === 0 && !isUnanswered(failure)) throw failure
      error = failure as Error
    } finally {
      void refresh(...DECIDED)
    }
    setOver({ error })
  }
  return { results, isOver: over !== undefined, error: over?.error, send }
}

function isUnanswered(error: unknown): boolean {
  return error instanceof ApiError && !isCanceled(error) && (error.status === 0 || error.status >= 500)
}

type OutcomeProps = Sending & { exceptions: readonly Exception[]; onRetry: () => Promise<void>; onClose: () => void }

function Outcome({ exceptions, results, error, onRetry, onClose }: OutcomeProps) {
  const t = useTexts()
  const labels = useLabels()
  const { count } = useFormat()
  const errorText = useErrorText()
  const refusals = useRefusalTexts()
  const [isBusy, setBusy] = useState(false)
  const retry = () => {
    setBusy(true)
    void onRetry().finally(() => setBusy(false))
  }
  const decided = [...results.values()].filter(({ result }) => result !== 'refused').length
  // Of a refund that was refused, the provider says why.
  const textOf = ({ code, error }: ResolveResult) =>
    code === null || code === 'provider_refused' ? error : (refusals[code] ?? error)
  return (
    <Dialog
      isWide
      title={t.outcome}
      text={t.summary(count(decided), count(exceptions.length))}
      onClose={() => !isBusy && onClose()}
      footer={
        <>
          {error && (
            <Button isBusy={isBusy} onClick={retry}>
              {t.retry}
            </Button>
          )}
          <Button kind="primary" disabled={isBusy} onClick={onClose}>
            {t.ready}
          </Button>
        </>
      }
    >
      {error && (
        <div className="mb-4">
          <Notice tone="bad" title={errorText(error)}>
            {t.unansweredText}
          </Notice>
        </div>
      )}
      <ul aria-live="polite" className="divide-y divide-line">
        {exceptions.map(({ id, kind, value }) => {
          const result = results.get(id)
          return (
            <li key={id} className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 py-2.5">
              <span>
                <Money cents={value} className="font-medium" /> · {labels.kind[kind]}
              </span>
              <Badge tone={result ? TONES[result.result] : 'wait'}>
                {result ? t.results[result.result] : t.unanswered}
              </Badge>
              {result && textOf(result) && <span className="w-full text-sm text-soft">{textOf(result)}</span>}
            </li>
          )
        })}
      </ul>
    </Dialog>
  )
}
