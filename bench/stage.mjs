// Everything that a measure needs: database, bank, service, reference, load.
import { startProgram } from './children.mjs'
import { makeHome, openDatabase } from './database.mjs'
import { startService } from './service.mjs'

/**
 * `onOpen` receives what to close at the end. The caller first ends the processes of children.mjs, then closes in
 * reverse.
 */
export async function openStage({ data, onOpen, ...options }) {
  const { home, remove } = makeHome(data)
  onOpen(remove)
  const database = await openDatabase(home, options)
  onOpen(() => database.close())
  const [bank, reference, load] = ['bank', 'reference', 'load'].map((name) => startProgram(`${name}.mjs`))
  const bankUrl = await bank.ask('url')
  const service = await startService({ ...options, home, bankUrl, databaseUrl: database.url })
  const receiverUrl = await load.ask('receiverUrl')
  const connection = await database.create('bench_reference')
  const referenceUrl = await reference.ask('open', { connection, bankUrl, receiverUrl })
  return {
    database,
    bank: { ...bank, url: bankUrl },
    service: { ...service, notifyUrl: await bank.ask('webhookUrl') },
    reference: { ...reference, url: referenceUrl },
    load: { ...load, receiverUrl },
  }
}
