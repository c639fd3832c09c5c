import { randomBytes } from 'node:crypto'
import { accessSync, chmodSync, constants, copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isDeepStrictEqual, parseEnv } from 'node:util'
import type { Command } from 'commander'
import { OperatorError } from '../base/operator-error.ts'
import { file } from '../config/variables.ts'
import { loadConfig } from '../config/config.ts'
import { tryDatabase } from '../db/ready.ts'
import { findSecretKey } from '../config/secrets.ts'
import { addCommand } from './arguments.ts'
import { ANSWERS, askSettings, type AnswerName, type Asker, type Question } from './init-questions.ts'
import { openPrompt, type Prompt } from './prompt.ts'
import type { Terminal } from './terminal.ts'

type Settings = Record<string, string>
type Given = Partial<Record<AnswerName, string>>
type Options = Given & { yes?: true; force?: true; directory: string; connect: boolean }

export function initCommand(program: Command, terminal: Terminal): void {
  const command = addCommand(
    program,
    'init',
    '',
    '--yes',
    '--yes --mode live --public-url https://pay.example.com --provider woovi --app-id @app-id.txt',
  )
    .description('ask for the settings that guiche needs, check them, and write them to .env')
    .option('--yes', 'ask nothing: take the options below, and the defaults')
    .option('--force', 'replace an existing .env; a copy of it is kept')
    .option('--directory <path>', 'directory of .env', '.')
    .option('--no-connect', 'do not try to reach the database')
  for (const [flags, text] of Object.values(ANSWERS)) command.option(flags, text)
  command
    .addHelpText(
      'after',
      `
A question whose option is given is not asked. A secret may be @file, which reads it from that file: then the list of
processes does not show it. SECRET_KEY is generated, and METRICS_TOKEN for a live service; with --force, both and all
that is not asked for are kept. To keep a secret in a file of its own, replace its variable NAME in .env by NAME_FILE,
the path of that file.
guiche reads .env from the directory that it is started in. docs/configuration.md lists all settings.`,
    )
    .action((options: Options) => runInit(terminal, options))
}

async function runInit(terminal: Terminal, options: Options): Promise<void> {
  const directory = resolve(options.directory)
  requireWritable(directory)
  const path = join(directory, '.env')
  if (existsSync(path) && !options.force)
    throw new OperatorError(`${path} is there already: edit it, or replace it with --force, which keeps a copy`)
  const kept = keptSettings(path)
  const answers = await gather(terminal, options)
  const isLive = answers['PROVIDERS'] !== 'sandbox'
  const lacks = (name: string) => !kept[name] && !kept[`${name}_FILE`]
  const settings = {
    ...kept,
    ...answers,
    ...(lacks('SECRET_KEY') && { SECRET_KEY: secretKeyFor(terminal, answers) }),
    ...(isLive && lacks('METRICS_TOKEN') && { METRICS_TOKEN: makeSecret() }),
  }
  // Every answer was checked, so this refuses only what contradicts another.
  const { warnings, certificateTroubles } = loadConfig(settings)
  for (const warning of warnings) terminal.say(`Warning: ${warning}`)
  for (const { text } of certificateTroubles) terminal.say(`Warning: the client certificate ${text}`)
  const copy = writeSettings(path, settings)
  if (copy) terminal.say(`The old file is kept as ${copy}.`)
  terminal.print(`Wrote ${path}`)
  terminal.say(`Only you can read it. Keep a copy of SECRET_KEY apart from the backups of the database.

Next:
  $ npx guiche doctor    # checks the settings; it misses the database until the first start
  $ npx guiche start     # creates the database, and runs the service`)
  if (isLive) terminal.say(MONITORING)
}

const MONITORING = `
Prometheus reads /metrics with METRICS_TOKEN as its bearer token. Copy the token to a file that only Prometheus can read,
and name that file as credentials_file: docs/operations.md has the lines, under Metrics.`

/** Runs before the questions, so that nobody answers them in vain. */
function requireWritable(directory: string): void {
  try {
    accessSync(directory, constants.W_OK)
  } catch (error) {
    throw new OperatorError(`${directory} cannot be written to: ${(error as Error).message}`)
  }
}

// ---- Asking ----

async function gather(terminal: Terminal, options: Options): Promise<Settings> {
  const connect = async (databaseUrl: string) => {
    if (!options.connect) return
    terminal.say('Connecting to the database…')
    terminal.say(`It is PostgreSQL ${await reachDatabase(databaseUrl)}.`)
  }
  if (options.yes || !terminal.keyboard) {
    const { missing, ...asker } = takeOptions(options)
    // Asks all before it refuses, so that one attempt tells everything that is missing.
    const settings = await askSettings(asker, options.yes ? connect : async () => {})
    if (!options.yes) missing.unshift('--yes')
    if (missing.length > 0)
      throw new OperatorError(`${options.yes ? 'Add' : 'There is no terminal to ask at: add'} ${missing.join(', ')}`)
    return settings
  }
  terminal.say('Enter takes what is in brackets. Ctrl-C stops, and nothing is written.\n')
  const prompt = openPrompt(terminal.keyboard, terminal.screen)
  try {
    return await askSettings(askPerson(terminal, prompt, options), connect)
  } finally {
    prompt.close()
  }
}

async function reachDatabase(databaseUrl: string): Promise<string> {
  try {
    return await tryDatabase(databaseUrl)
  } catch (error) {
    const { message } = error as Error
    throw new OperatorError(`${message}. To use it all the same, run init with --no-connect`, { cause: error })
  }
}

function takeOptions(given: Given): Asker & { missing: string[] } {
  const missing: string[] = []
  return {
    missing,
    isGiven: (name) => given[name] !== undefined,
    async ask(question) {
      const answer = readAnswer(question, given) ?? question.fallback
      if (answer === undefined) missing.push(ANSWERS[question.name][0])
      return answer ? question.check(answer) : ''
    },
  }
}

const MAX_TRIES = 10

function askPerson({ say }: Terminal, prompt: Prompt, given: Given): Asker {
  return {
    isGiven: (name) => given[name] !== undefined,
    async ask(question) {
      const { text, advice, fallback, isSecret = false, check } = question
      const answer = readAnswer(question, given)
      if (answer !== undefined) return check(answer)
      if (advice) say(advice)
      const shown = `${text}${isSecret ? ' (not shown)' : ''}${fallback ? ` [${fallback}]` : ''}:`
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const typed = (await prompt.ask(shown, { isSecret })) || fallback
        if (typed === '') return ''
        try {
          if (typed !== undefined) return await check(typed)
          say('  An answer is needed.')
        } catch (error) {
          if (!(error instanceof OperatorError)) throw error
          say(`  ${error.message}`)
        }
      }
      throw new OperatorError(`No answer to "${text}" could be used; nothing was written`)
    },
  }
}

function readAnswer({ name, isSecret }: Question, given: Given): string | undefined {
  const answer = given[name]
  if (!isSecret || !answer?.startsWith('@')) return answer
  return file(ANSWERS[name][0], answer.slice(1)).toString().trim()
}

// ---- Writing ----

const ASKED = /^(PORT|PUBLIC_URL|DATABASE_URL(_FILE)?|PROVIDERS|PROVIDER_.*|SMTP_URL(_FILE)?|MAIL_FROM)$/

function keptSettings(path: string): Settings {
  if (!existsSync(path)) return {}
  const old = Object.entries(parseEnv(readFileSync(path, 'utf8')))
  return Object.fromEntries(old.flatMap(([name, value]) => (ASKED.test(name) || !value ? [] : [[name, value]])))
}

/** Keeps the key of an existing embedded database, because no other key opens what it stores. */
function secretKeyFor(terminal: Terminal, { DATABASE_URL: databaseUrl }: Settings): string {
  const known = databaseUrl === undefined ? findSecretKey(terminal.loadHome()) : undefined
  return known ?? makeSecret()
}

function makeSecret(): string {
  return randomBytes(32).toString('hex')
}

function writeSettings(path: string, settings: Settings): string | undefined {
  const text = `# Settings of guiche. docs/configuration.md lists all of them. Keep this file secret.\n${render(settings)}`
  if (!isDeepStrictEqual({ ...parseEnv(text) }, settings))
    throw new OperatorError('A value cannot be written to .env: it must not hold several kinds of quotation marks')
  const copy = existsSync(path) ? keepCopy(path) : undefined
  writeFileSync(path, text, { mode: 0o600, flag: copy ? 'w' : 'wx' })
  return copy
}

function keepCopy(path: string): string {
  let number = 1
  while (existsSync(`${path}.old-${number}`)) number++
  const copy = `${path}.old-${number}`
  copyFileSync(path, copy, constants.COPYFILE_EXCL)
  for (const secret of [path, copy]) chmodSync(secret, 0o600)
  return copy
}

function render(settings: Settings): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${quote(value)}\n`)
    .join('')
}

/** Quotes with marks that the value does not contain. Within double quotes, \n would become a line break. */
function quote(value: string): string {
  if (/^[\w./:@+=,%-]*$/.test(value)) return value
  const mark = ["'", '`', '"'].find((candidate) => !value.includes(candidate)) ?? '"'
  return `${mark}${value}${mark}`
}
