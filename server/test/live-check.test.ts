import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { runCommand } from '../src/commands/program.ts'
import { CHARGE_SECRET } from './databases.ts'
import { runCli, temporaryHome } from './process.ts'
import { open, send } from './sandbox-client.ts'
import { closeAfterTest, cob, openScriptedPsp, type Script } from './scripted-psp.ts'
import { world } from './world.ts'

// An operator tries a bank: `guiche doctor --provider <name> --live-check`.

const CHECK = ['doctor', '--provider', 'sandbox', '--live-check']

async function environment(settings: Record<string, string>) {
  const { databaseUrl } = await world()
  const named = Object.entries(settings).map(([name, value]) => [`PROVIDER_SANDBOX_${name}`, value])
  const own = { DATABASE_URL: databaseUrl, SECRET_KEY: CHARGE_SECRET, GUICHE_HOME: temporaryHome() }
  return { ...own, ...(Object.fromEntries(named) as Record<string, string>) }
}

async function strictBank() {
  const sandbox = await open({ as: 'inter' })
  const { url, tokenUrl, files } = sandbox.customer!
  const tls = { CERT: files.cert, CERT_KEY: files.key, CA: files.ca }
  const charges = async () => (await send(`${sandbox.url}/bank/stats`, { method: 'GET' })).body.charges
  return { env: await environment({ BANK: 'inter', URL: url, TOKEN_URL: tokenUrl, ...tls }), charges }
}

test('a charge of one cent is made, read and withdrawn, and each step is told', async () => {
  const { env, charges } = await strictBank()
  const { code, stdout, stderr } = await runCli([...CHECK, '--yes'], env)
  const [first, ...others] = stdout.trimEnd().split('\n')
  expect(first).toMatch(/^✓ create +made charge [0-9a-f]{32}, with a code to pay, until /)
  expect(others.map((line) => line.replaceAll(/ +/g, ' '))).toEqual([
    '✓ read it is active',
    '✓ withdraw the provider took it back',
    '✓ read again it is withdrawn',
  ])
  expect([code, stderr, await charges()]).toEqual([0, expect.stringContaining('a real charge of one cent'), 1])
})

test('nothing is made before somebody said yes', async () => {
  const { env, charges } = await strictBank()
  const without = await runCli(CHECK, env)
  expect([without.code, without.stderr]).toEqual([
    1,
    expect.stringContaining('There is no terminal to ask at: add --yes'),
  ])
  const keyboard = new PassThrough()
  let shown = ''
  const stderr = {
    write(text: string) {
      shown += text
      if (text.includes('Go on?')) keyboard.write('\n')
    },
  }
  const refuse = () => Promise.reject(new Error('doctor starts nothing'))
  const code = await runCommand(CHECK, {
    stdout: stderr,
    stderr,
    readInput: async () => '',
    keyboard,
    env,
    start: refuse,
  })
  expect([code, shown, await charges()]).toEqual([1, expect.stringContaining('Stopped; no charge was made'), 0])
  expect((await runCli([...CHECK, '--yes', '--provider', 'other'], env)).stderr).toContain('your providers: sandbox')
  expect((await runCli(['doctor', '--yes'], env)).stderr).toContain('Add --live-check')
})

async function tryScripted(script: Script, token?: Script) {
  const psp = await openScriptedPsp(script, token && { token })
  closeAfterTest(() => psp.stop())
  const { code, stdout } = await runCli([...CHECK, '--yes'], await environment({ URL: psp.url }))
  return { psp, code, lines: stdout.trimEnd().split('\n') }
}

test('what may have been made is withdrawn, although nobody knows whether it was', async () => {
  const absent = { status: 404, json: { title: 'Cobrança não encontrada' } }
  const withdrawn = (path: string) => ({
    ...cob(),
    txid: path.slice('/cob/'.length),
    status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR',
  })
  let isWithdrawn = false
  const { psp, code, lines } = await tryScripted(({ method, path }) => {
    if (method === 'PUT') return 'reset'
    isWithdrawn ||= method === 'PATCH'
    return isWithdrawn ? { status: 200, json: withdrawn(path) } : absent
  })
  expect(psp.count('PATCH /cob/')).toBe(1)
  expect([code, lines.map((line) => line.replaceAll(/ +/g, ' '))]).toEqual([
    1,
    [
      expect.stringMatching(/^✗ create .*Look at the provider whether it was done, and try again$/),
      expect.stringMatching(/^✗ read the provider does not know it/),
      '✓ withdraw the provider took it back',
      '✓ read again it is withdrawn',
    ],
  ])
})

test('a charge that stays payable, and a refused login, fail with what to do', async () => {
  const { code, lines } = await tryScripted(({ method, path }) => {
    const own = { txid: path.slice('/cob/'.length), chave: 'sandbox@guiche.example' }
    const charge = { ...cob(), ...own, valor: { original: '0.01' } }
    return method === 'PATCH' ? { status: 403, json: { title: 'Negado' } } : { status: 200, json: charge }
  })
  expect([code, ...lines]).toEqual([
    1,
    expect.stringMatching(/^✓ create /),
    expect.stringMatching(/^✓ read +it is active$/),
    expect.stringMatching(/^✗ withdraw .*HTTP 403 Negado\. The text is the provider’s: check client id/),
    expect.stringMatching(/^✗ read again +it is active, and not withdrawn: withdraw it at the bank/),
  ])
  const denied = { status: 401, json: { error: 'invalid_client', error_description: 'no such client' } }
  const refused = await tryScripted(
    () => denied,
    () => denied,
  )
  expect(refused.lines).toEqual([
    expect.stringMatching(/^✗ create .*\(HTTP 401 at the token URL: invalid_client no such client\)\. The text is/),
  ])
})
