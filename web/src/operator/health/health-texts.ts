import { translations } from '../../base/language.ts'
import type { HealthLine } from '../../contract/types.ts'

// What each line of the health page is about, and what to do when it is not green.

export const useHealthTexts = translations({
  money_missing: {
    title: ['Dinheiro devolvido fora do guiche', 'Money refunded outside guiche'],
    act: [
      'Decida as exceções de devolução externa. Se ninguém da equipe devolveu no banco, ligue para o banco.',
      'Decide the exceptions of external refunds. If nobody of yours refunded at the bank, call the bank.',
    ],
  },
  exceptions_open: {
    title: ['Exceção mais antiga sem decisão', 'Oldest undecided exception'],
    act: [
      'Cada uma é dinheiro de alguém. Resolva-as em Exceções.',
      'Each is somebody’s money. Resolve them under Exceptions.',
    ],
  },
  closing_differences: {
    title: ['Diferenças no último fechamento', 'Differences in the last closing'],
    act: ['Concilie o dia de novo e depois rode guiche audit.', 'Reconcile the day again, then run guiche audit.'],
  },
  closing_age: {
    title: ['Desde o último dia fechado', 'Since the last closed day'],
    act: [
      'Procure a conciliação no log. O comando guiche doctor pergunta ao provedor.',
      'Look for reconciliation in the log. guiche doctor asks the provider.',
    ],
  },
  provider_breaker: {
    title: ['Processos que pausaram as chamadas', 'Processes that paused their calls'],
    act: [
      'As chamadas falham. Rode guiche doctor; novas cobranças vão para o próximo provedor, se houver.',
      'Calls fail. Run guiche doctor; new charges go to the next provider, if there is one.',
    ],
  },
  provider_success: {
    title: ['Última resposta do provedor', 'Last response of the provider'],
    act: [
      'Se o provedor responde e recusa, confira as credenciais e o certificado.',
      'If the provider answers and refuses, check its credentials and the certificate.',
    ],
  },
  provider_errors: {
    title: ['Chamadas com falha desde o início deste processo', 'Failed calls since this process started'],
    act: ['', ''],
  },
  provider_latency: { title: ['Tempo médio de resposta', 'Mean response time'], act: ['', ''] },
  provider_certificate: {
    title: ['Validade do certificado', 'Certificate valid for'],
    act: [
      'Peça outro ao banco, o que pode levar dias, e reinicie um processo por vez.',
      'Get a new one from the bank, which may take days, and restart one process after the other.',
    ],
  },
  list_read: {
    title: ['Última leitura da lista de Pix', 'Pix list last read'],
    act: [
      'Pix sem notificação não são creditados enquanto isso. Veja se as chamadas falham.',
      'A Pix without a notification is not credited meanwhile. See whether calls fail.',
    ],
  },
  notifications_missing: {
    title: ['Pix sem notificação', 'Pix without a notification'],
    act: [
      'Confira se PUBLIC_URL/callbacks/ é acessível de fora. O crédito só chega mais tarde.',
      'Check that PUBLIC_URL/callbacks/ can be reached from outside. Credits only come later.',
    ],
  },
  queue: {
    title: ['Fila', 'Queue'],
    act: [
      'Nenhum processo trabalha nela, ou o banco de dados ou o provedor está lento. Veja o log.',
      'No process works on it, or the database or the provider is slow. Look at the log.',
    ],
  },
  refunds_in_doubt: {
    title: ['Devoluções em dúvida', 'Refunds in doubt'],
    act: [
      'O guiche pergunta de novo sozinho. Se durar, confirme no banco e encerre com guiche refund end.',
      'guiche asks again by itself. If it lasts, check at the bank and end it with guiche refund end.',
    ],
  },
  webhooks_failing: {
    title: ['Webhooks com falha', 'Failing webhooks'],
    act: [
      'Um só é assunto da conta. Vários são nossos: veja a saída de rede e WEBHOOK_PROXY_URL.',
      'One is its account’s concern. Several are ours: look at the way out of the network and WEBHOOK_PROXY_URL.',
    ],
  },
  workers: {
    title: ['Algum processo faz o trabalho de fundo', 'Some process does the background work'],
    act: [
      'Inicie um processo com --role worker ou all: sem ele, pagamentos esperam.',
      'Start a process with --role worker or all: without one, payments wait.',
    ],
  },
  worker_round: {
    title: ['Trabalho', 'Job'],
    act: [
      'Não termina há muito tempo. O log diz por quê (worker round failed); reinicie o processo.',
      'It has not finished for long. The log says why (worker round failed); restart the process.',
    ],
  },
  purge_failing: {
    title: ['Limpeza que falha', 'Deletion that fails'],
    act: [
      'O banco de dados cresce. O log diz por quê (deleting old rows failed).',
      'The database grows. The log says why (deleting old rows failed).',
    ],
  },
  database_answers: {
    title: ['O banco de dados responde', 'The database answers'],
    act: [
      'O PostgreSQL está no ar e acessível? O log diz por quê (database unavailable).',
      'Is PostgreSQL up and reachable? The log says why (database unavailable).',
    ],
  },
  database_writable: {
    title: ['O banco de dados grava', 'The database stores'],
    act: [
      'É uma réplica, uma configuração, ou o disco está cheio: /readyz diz qual.',
      'It is a standby, a setting, or a full disk: /readyz says which.',
    ],
  },
  pool_waiting: {
    title: ['À espera de uma conexão', 'Waiting for a connection'],
    act: [
      'Um comando lento, ou DATABASE_POOL_SIZE pequeno demais. Veja pg_stat_activity.',
      'A slow statement, or too small a DATABASE_POOL_SIZE. Look at pg_stat_activity.',
    ],
  },
  oldest_transaction: {
    title: ['Transação mais antiga', 'Oldest transaction'],
    act: [
      'Veja em pg_stat_activity quem a mantém: linhas antigas não são limpas enquanto isso.',
      'See in pg_stat_activity who keeps it: old rows are not vacuumed meanwhile.',
    ],
  },
  replication_lag: {
    title: ['Atraso da réplica', 'Lag of the standby'],
    act: [
      'Veja o disco e a rede da réplica. Um failover perderia esse tempo.',
      'Look at its disk and network. A failover would lose that much.',
    ],
  },
  database_size: { title: ['Tamanho do banco de dados', 'Size of the database'], act: ['', ''] },
  disk_free: {
    title: ['Espaço livre em disco', 'Free disk space'],
    act: ['Libere espaço. Com o disco cheio, nada é gravado.', 'Make room. With a full disk nothing is stored.'],
  },
  backup_age: {
    title: ['Último backup', 'Last backup'],
    act: [
      'Veja o agendamento (guiche-backup.timer), ou rode guiche backup.',
      'Look at the timer (guiche-backup.timer), or run guiche backup.',
    ],
  },
  head_unsigned: {
    title: ['Histórico à espera de assinatura', 'History waiting for a signature'],
    act: [
      'O trabalho que assina está parado ou falha. Veja o log.',
      'The job that signs has stopped or fails. Look at the log.',
    ],
  },
  head_unwitnessed: {
    title: ['Assinatura à espera da testemunha', 'Signature waiting for its witness'],
    act: [
      'A testemunha (WITNESS_URL) não responde ou recusa. O log diz qual dos dois.',
      'The witness (WITNESS_URL) does not answer or refuses. The log says which.',
    ],
  },
  processes: { title: ['Processos em execução', 'Running processes'], act: ['', ''] },
  clock_offset: {
    title: ['Diferença do relógio', 'Clock difference'],
    act: [
      'Use NTP nas duas máquinas. Acima de dois segundos, os trabalhos param.',
      'Use NTP on both machines. Past two seconds the workers stop.',
    ],
  },
  versions: {
    title: ['Versões diferentes lado a lado', 'Different versions side by side'],
    act: ['Conclua a atualização, ou volte atrás.', 'Finish the upgrade, or take it back.'],
  },
})

/** The names of queues, jobs and the like; what is not here, such as a provider, is its own name. */
const useSubjectTexts = translations({
  checks: ['Consultas ao provedor', 'Questions to the provider'],
  refunds: ['Devoluções', 'Refunds'],
  refund_checks: ['Conferência de devoluções', 'Checks of refunds'],
  deliveries: ['Entregas de webhooks', 'Webhook deliveries'],
  positions: ['Eventos sem posição no histórico', 'Events without a position in the history'],
  notice_emails: ['E-mails com avisos', 'E-mails with notices'],
  number: ['Posições no histórico', 'Positions in the history'],
  check: ['Consultas ao provedor', 'Questions to the provider'],
  deliver: ['Entregas de webhooks', 'Webhook deliveries'],
  refund: ['Devoluções', 'Refunds'],
  purge: ['Limpeza de dados antigos', 'Deletion of old rows'],
  'sign heads': ['Assinatura do histórico', 'Signing the history'],
  tell: ['Avisos', 'Notices'],
  reconcile: (provider: string) => [`Conciliação, ${provider}`, `Reconciliation, ${provider}`],
  register: (provider: string) => [`Endereço de notificações, ${provider}`, `Notification address, ${provider}`],
})

function useSubjectText(): (subject: string) => string {
  const texts: Readonly<Record<string, string | ((name: string) => string)>> = useSubjectTexts()
  return (subject) => {
    const [kind = '', ...name] = subject.split(' ')
    const text = texts[subject] ?? texts[kind]
    return typeof text === 'function' ? text(name.join(' ')) : (text ?? subject)
  }
}

/** What a line is about: of a queue or a job its name, of a provider both. */
export function useLineTitle(): (line: Pick<HealthLine, 'check' | 'subject'>) => string {
  const texts = useHealthTexts()
  const subjectText = useSubjectText()
  return ({ check, subject }) => {
    const { title } = texts[check]
    if (subject === null) return title
    const own = subjectText(subject)
    return check === 'queue' || check === 'worker_round' ? own : `${own}: ${title}`
  }
}
