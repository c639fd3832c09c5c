import { useParams } from '@tanstack/react-router'
import { del } from '../../base/api.ts'
import { useFormat } from '../../base/format.ts'
import { translations } from '../../base/language.ts'
import { useCursorList, useGet } from '../../base/queries.ts'
import { useMay } from '../../base/session.ts'
import type { Code, Deposit } from '../../contract/types.ts'
import { depositCard, useDepositColumns } from '../../deposits/deposit-columns.tsx'
import { Status } from '../../ui/badge.tsx'
import { buttonClass, DialogButton } from '../../ui/button.tsx'
import { QrCode } from '../../ui/data/qr-code.tsx'
import { Table } from '../../ui/data/table.tsx'
import { CopyButton, DateTime, Money } from '../../ui/data/values.tsx'
import { ConfirmDialog } from '../../ui/form/form-dialog.tsx'
import { DepositIcon, ExternalIcon, PrintIcon } from '../../ui/icons.tsx'
import { Notice } from '../../ui/notice.tsx'
import { Card, DetailList, Empty, Page, Skeleton } from '../../ui/page.tsx'
import { CodeDialog, useLimitsText } from './code-dialog.tsx'

const useTexts = translations({
  codes: ['Códigos', 'Codes'],
  change: ['Alterar', 'Change'],
  reopen: ['Abrir de novo', 'Open again'],
  close: ['Encerrar', 'Close'],
  closing: ['Encerrar este código?', 'Close this code?'],
  closingText: [
    'Quem já tem o QR code ainda consegue pagar, e o dinheiro fica em análise. Você pode abrir o código de novo.',
    'Whoever has the QR code can still pay, and the money is put under review. You can open the code again.',
  ],
  closeIt: ['Encerrar código', 'Close code'],
  closed: ['Código encerrado.', 'Code closed.'],
  closedText: [
    'Um pagamento deste código não entra no seu saldo: fica em análise.',
    'A payment of this code does not enter your balance: it is put under review.',
  ],
  held: (money: string) => [`${money} em análise`, `${money} under review`],
  heldText: [
    'Chegou por este código e não entrou no seu saldo. A equipe do guiche decide: creditar ou devolver.',
    'It arrived by this code and did not enter your balance. The guiche team decides: credit or refund.',
  ],
  heldValue: ['Em análise', 'Under review'],
  keptValue: ['Recebido, já resolvido', 'Received, resolved'],
  qr: ['QR code deste código', 'QR code of this code'],
  copy: ['Copiar código Pix', 'Copy Pix code'],
  copyLink: ['Copiar link', 'Copy link'],
  open: ['Abrir a página', 'Open the page'],
  print: ['Imprimir', 'Print'],
  details: ['Detalhes', 'Details'],
  status: ['Situação', 'Status'],
  description: ['Descrição', 'Description'],
  limits: ['Valores aceitos', 'Amounts taken'],
  txid: ['txid no banco', 'txid at the bank'],
  created: ['Criado em', 'Created'],
  closedAt: ['Encerrado em', 'Closed'],
  deposits: ['Depósitos deste código', 'Deposits of this code'],
  empty: {
    title: ['Nenhum depósito ainda', 'No deposits yet'],
    text: ['Cada pagamento deste código aparece aqui.', 'Each payment of this code appears here.'],
  },
})

const PAGE_ROWS = 25
const REFRESH_MS = 15_000

export function CodePage() {
  const t = useTexts()
  const may = useMay()
  const { money } = useFormat()
  const { externalId = '' } = useParams({ strict: false })
  const query = useGet<{ code: Code }>(['code', externalId], `/codes/${encodeURIComponent(externalId)}`)
  const list = useCursorList<Deposit>({
    path: '/deposits',
    query: { code: externalId, limit: PAGE_ROWS },
    field: 'deposits',
    refetchIntervalMs: REFRESH_MS,
  })
  const columns = useDepositColumns()
  const code = query.data?.code
  return (
    <Page
      title={externalId}
      back={{ to: '/codes', label: t.codes }}
      query={query}
      actions={code && may('deposits:write') && <Actions code={code} />}
    >
      {code && code.heldValue > 0 && (
        <Notice tone="wait" title={t.held(money(code.heldValue))}>
          {t.heldText}
        </Notice>
      )}
      {code?.status === 'CLOSED' && <Notice tone="wait">{t.closedText}</Notice>}
      <div className="grid items-start gap-6 lg:grid-cols-[20rem_1fr]">
        {code ? <Shown code={code} /> : <Skeleton className="h-96 w-full" />}
        <div className="min-w-0 space-y-6">
          {code && <Details code={code} />}
          <Card title={t.deposits} isFlush>
            <Table
              caption={t.deposits}
              columns={columns}
              list={list}
              rowKey={({ id }) => id}
              rowLink={({ paymentLinkId }) => `/deposits/${paymentLinkId}`}
              card={depositCard}
              empty={<Empty icon={DepositIcon} {...t.empty} />}
            />
          </Card>
        </div>
      </div>
    </Page>
  )
}

function Actions({ code }: { code: Code }) {
  const t = useTexts()
  const isOpen = code.status === 'OPEN'
  return (
    <>
      <DialogButton dialog={(onClose) => <CodeDialog code={code} onClose={onClose} />}>
        {isOpen ? t.change : t.reopen}
      </DialogButton>
      {isOpen && (
        <DialogButton
          dialog={(onClose) => (
            <ConfirmDialog
              title={t.closing}
              text={t.closingText}
              action={t.closeIt}
              isDanger
              onSend={() => del(`/codes/${encodeURIComponent(code.externalId)}`)}
              done={t.closed}
              refreshes={[
                ['list', '/codes'],
                ['code', code.externalId],
              ]}
              onClose={onClose}
            />
          )}
        >
          {t.close}
        </DialogButton>
      )}
    </>
  )
}

function Shown({ code }: { code: Code }) {
  const t = useTexts()
  const link = buttonClass({ size: 'small' })
  return (
    <Card>
      <div className="space-y-4">
        <QrCode text={code.emv} label={t.qr} className="mx-auto size-52 rounded-lg border border-line" />
        <code className="block rounded-lg bg-code-ground p-3 font-mono text-xs leading-5 break-all text-soft">
          {code.emv}
        </code>
        <div className="flex flex-wrap gap-2">
          <CopyButton text={code.emv} label={t.copy} />
          <CopyButton text={code.codeUrl} label={t.copyLink} />
          {/* The page prints itself, and only that. */}
          <a href={`${code.codeUrl}#print`} target="_blank" rel="noopener" className={link}>
            <PrintIcon className="size-4" />
            {t.print}
          </a>
          <a href={code.codeUrl} target="_blank" rel="noopener" className={link}>
            <ExternalIcon className="size-4" />
            {t.open}
          </a>
        </div>
      </div>
    </Card>
  )
}

function Details({ code }: { code: Code }) {
  const t = useTexts()
  const limitsText = useLimitsText()
  return (
    <Card title={t.details}>
      <DetailList
        details={[
          { name: t.status, value: <Status status={code.status} /> },
          { name: t.description, value: code.description },
          { name: t.limits, value: limitsText(code) },
          {
            name: t.heldValue,
            value: code.heldValue > 0 ? <Money cents={code.heldValue} className="font-semibold" /> : null,
          },
          { name: t.keptValue, value: code.keptValue > 0 ? <Money cents={code.keptValue} /> : null },
          { name: t.txid, value: <span className="font-mono text-sm break-all">{code.txid}</span> },
          { name: t.created, value: <DateTime at={code.createdAt} /> },
          { name: t.closedAt, value: code.closedAt && <DateTime at={code.closedAt} /> },
        ]}
      />
    </Card>
  )
}
