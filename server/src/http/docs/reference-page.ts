import { ERRORS } from '../server/error-codes.ts'
import { html, type Html } from '../../base/html.ts'
import type { Page } from '../server/page-layout.ts'
import type { Answer, Document, Operation, Parameter, Schema } from './openapi-postprocess.ts'
import { exampleAnswer, exampleRequest, exampleText, prettyJson } from './reference-examples.ts'
import { fieldItem, fieldList, objectId, prose, refName } from './reference-fields.ts'
import { curlSample, javascriptSample, phpSample, pythonSample } from './reference-samples.ts'
import { REFERENCE_STYLE } from './reference-style.ts'

export type RoutedOperation = Operation & { path: string; method: string }
type Group = { name: string; description: string; operations: RoutedOperation[] }

/** The reference for people, from the same document that programs read. It needs no script. */
export function referencePage(document: Document, publicUrl: string): Page {
  const groups = groupsOf(document)
  return {
    language: 'en',
    title: 'guiche API reference',
    style: REFERENCE_STYLE,
    main: html`<a class="skip" href="#content">Skip to the content</a>
      <div class="reference">
        ${contents(document, groups)}
        <main id="content">
          ${introduction(document, publicUrl)} ${groups.map((group) => groupSection(document, publicUrl, group))}
          ${webhookSection(document)} ${objectSection(document)} ${errorSection()}
        </main>
      </div>`,
  }
}

export function groupsOf(document: Document): Group[] {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  )
  return document.tags.map((tag) => ({
    ...tag,
    operations: operations.filter((operation) => operation.tags?.includes(tag.name)),
  }))
}

function contents(document: Document, groups: Group[]): Html {
  const entry = (id: string, name: string, below: Html[] = []) =>
    html`<li>
      <a href="#${id}">${name}</a>${
        below.length > 0 &&
        html`<ul>
          ${below}
        </ul>`
      }
    </li>`
  return html`<nav aria-label="Contents">
    <ul>
      ${entry('introduction', 'guiche API')}
      ${groups.map(({ name, operations }) => entry(groupId(name), name, operations.map(operationEntry)))}
      ${entry(
        'webhook-events',
        'Webhook events',
        Object.keys(document.webhooks).map((kind) => entry(`event-${kind}`, kind)),
      )}
      ${entry(
        'objects',
        'Objects',
        objectsOf(document).map(([name]) => entry(objectId(name), name)),
      )}
      ${entry('errors', 'Error codes')}
    </ul>
  </nav>`
}

function operationEntry({ operationId, summary, method }: RoutedOperation): Html {
  return html`<li>
    <a href="#${operationId}">${summary} ${methodBadge(method)}</a>
  </li>`
}

function groupId(name: string): string {
  return `group-${name.toLowerCase()}`
}

function methodBadge(method: string): Html {
  return html`<b class="method ${method}">${method}</b>`
}

function introduction({ info, components }: Document, publicUrl: string): Html {
  return html`<section id="introduction">
    <h1>guiche API</h1>
    ${info.description.split('\n\n').map((paragraph) => html`<p>${prose(paragraph)}</p>`)}
    <p><b>Base URL</b>: <code>${publicUrl}</code></p>
    <p><b>Guide</b>: <a href="/docs?lang=en">your first deposit, webhooks, errors</a>, with code to copy.</p>
    <p>
      <b>For programs</b>: this reference is made from the OpenAPI 3.1 document at
      <a href="/openapi.json">/openapi.json</a>, and so is the
      <a href="/docs/guiche.opencollection.json" download>collection for Bruno</a>.
    </p>
    <h2 id="authentication">Authentication</h2>
    <p>Make an API key in the <a href="/developers">dashboard</a>, and send it in one of these ways:</p>
    <ul>
      ${Object.values(components.securitySchemes).map(({ description }) => html`<li>${prose(description)}</li>`)}
    </ul>
  </section>`
}

function groupSection(document: Document, publicUrl: string, { name, description, operations }: Group): Html {
  return html`<section>
    <h2 id="${groupId(name)}">${name}</h2>
    <p>${prose(description)}</p>
    <ul class="operations">
      ${operations.map(
        ({ operationId, method, path }) =>
          html`<li>
            <a href="#${operationId}">${methodBadge(method)} <code>${path}</code></a>
          </li>`,
      )}
    </ul>
    ${operations.map((operation) => operationArticle(document, publicUrl, operation))}
  </section>`
}

function operationArticle(document: Document, publicUrl: string, operation: RoutedOperation): Html {
  const { operationId, summary, method, path, description, parameters = [], requestBody } = operation
  const body = requestBody?.content['application/json']?.schema
  const answers = Object.entries(operation.responses)
  const errors = answers.filter(([status]) => status >= '400')
  const about = html`<p class="path">${methodBadge(method)} <code>${path}</code></p>
    <p class="key">${keyText(operation)}</p>
    <p>${prose(description.replace(KEY_SENTENCE, ''))}</p>
    ${parameters.length > 0 && parameterList(parameters)} ${body && html`<h4>Request body</h4>`}
    ${body && fieldList(body, true)}
    <h4>Answers</h4>
    ${answers.filter(([status]) => status < '400').map(([status, answer]) => successOf(document, status, answer))}
    <details>
      <summary>Errors: ${errors.map(([status]) => status).join(', ')}</summary>
      <ul class="fields">
        ${errors.map(([status, answer]) => errorItem(status, answer))}
      </ul>
    </details>`
  const request = exampleRequest(document, publicUrl, operation)
  const samples = { Request: curlSample(request), Answer: exampleAnswer(document, operation) }
  // Of the rest, such as images and a stream, a program would keep more than it prints.
  if (!request.needsKey) return article(operationId, summary, about, samples)
  return article(operationId, summary, about, samples, {
    JavaScript: javascriptSample(request),
    Python: pythonSample(request),
    PHP: phpSample(request),
  })
}

/** Text on the left and samples on the right, where there is room for both. */
function article(
  id: string,
  title: string,
  about: Html | Html[],
  samples: Record<string, string | undefined>,
  folded: Record<string, string> = {},
): Html {
  return html`<article id="${id}">
    <div>
      <h3><a href="#${id}">${title}</a></h3>
      ${about}
    </div>
    <div class="samples">
      ${Object.entries(samples).map(
        ([name, code]) =>
          code !== undefined &&
          html`<h4>${name}</h4>
            <pre><code>${code}</code></pre>`,
      )}
      ${Object.entries(folded).map(
        ([name, code]) =>
          html`<details>
            <summary>${name}</summary>
            <pre><code>${code}</code></pre>
          </details>`,
      )}
    </div>
  </article>`
}

// Where the sentence says nothing more than the line above it.
const KEY_SENTENCE = /(^| )Needs (the scope `[^`]+`|an operator’s key|no key)\.$/

function keyText({ security, 'x-scope': scope }: Operation): Html {
  if (security?.length === 0) return html`Public: needs no API key.`
  return html`<a href="#authentication">API key</a> with the scope <code>${scope}</code>`
}

function parameterList(parameters: Parameter[]): Html {
  return html`<h4>Parameters</h4>
    <ul class="fields">
      ${parameters.map(({ name, in: place, required, description, schema }) =>
        fieldItem(name, { ...schema, ...(description && { description }) }, { isRequired: required, place }),
      )}
    </ul>`
}

function successOf(document: Document, status: string, { description, headers = {}, content = {} }: Answer): Html {
  const special = Object.keys(headers).filter((name) => !EVERYWHERE.has(name))
  return html`<p><b class="status">${status}</b> ${prose(description)}</p>
    ${special.map((name) => html`<p>Header <code>${name}</code>: ${prose(document.components.headers[name]!.description)}</p>`)}
    ${Object.entries(content).map(([type, { schema }]) =>
      type === 'application/json' && schema ? fieldList(schema) : html`<p>Content type: <code>${type}</code></p>`,
    )}`
}

// The introduction names them.
const EVERYWHERE = new Set(['X-Request-Id', 'RateLimit', 'RateLimit-Policy'])

function errorItem(status: string, { description, 'x-error-codes': codes = [] }: Answer): Html {
  return html`<li>
    <b class="status">${status}</b> ${prose(description)}
    <p>${codes.map((code) => html`<a href="#error-${code}"><code>${code}</code></a> `)}</p>
  </li>`
}

function webhookSection(document: Document): Html {
  return html`<section>
    <h2 id="webhook-events">Webhook events</h2>
    <p>
      When something happens, guiche sends a <code>POST</code> with JSON to every
      <a href="#createWebhook">webhook</a> that asked for this kind of event.
    </p>
    <ul>
      <li>Answer 2xx within 15 seconds. Every other answer, redirects included, counts as a failure.</li>
      <li>
        A failed delivery is repeated for about three days, and later if you answer with <code>Retry-After</code>.
      </li>
      <li>
        An event can arrive more than once and in any order. Store <code>webhook-id</code> in a unique column, and
        ignore what you already have.
      </li>
      <li>New kinds of events may be added. Answer 2xx to those that you do not know.</li>
    </ul>
    ${article('webhook-signature', 'Verify the signature', SIGNATURE, { 'Node.js': VERIFY })}
    ${Object.entries(document.webhooks).map(([kind, { post }]) => eventArticle(document, kind, post))}
  </section>`
}

const SIGNATURE = html`<p>
    Anybody who knows your URL can send a request to it. Trust only requests whose signature matches. Deliveries are
    signed as the Standard Webhooks specification says, so any of its libraries verifies them.
  </p>
  <ul class="fields">
    <li><code>webhook-id</code> The id of the event.</li>
    <li><code>webhook-timestamp</code> Seconds since 1970. Refuse what is older than five minutes.</li>
    <li>
      <code>webhook-signature</code> One or more of <code>v1,&lt;base64&gt;</code>, separated by spaces. One match is
      enough: while a secret is being replaced, both secrets sign.
    </li>
  </ul>
  <p>
    The signature is the HMAC-SHA256 of <code>{webhook-id}.{webhook-timestamp}.{body}</code>. The key is the base64
    after <code>whsec_</code> in the secret of the webhook. Use the bytes of the body as they arrived, before any JSON
    parser.
  </p>`

/** Run by a test. */
export const VERIFY = `import { createHmac, timingSafeEqual }
  from 'node:crypto'

export function isGenuine(secret, headers, body) {
  const time = headers['webhook-timestamp']
  const age = Date.now() / 1000 - Number(time)
  const text = secret.slice('whsec_'.length)
  const key = Buffer.from(text, 'base64')
  const expected = createHmac('sha256', key)
    .update(headers['webhook-id'] + '.' + time + '.')
    .update(body)
    .digest()
  const isSigned = headers['webhook-signature']
    .split(' ')
    .map((part) => part.slice('v1,'.length))
    .map((given) => Buffer.from(given, 'base64'))
    .some((given) =>
      given.length === expected.length &&
      timingSafeEqual(given, expected))
  return isSigned && Math.abs(age) < 300
}`

function eventArticle(document: Document, kind: string, operation: Operation): Html {
  const { example } = operation.requestBody!.content['application/json']!
  const about = html`<p>${prose(`${operation.summary}. ${operation.description}`)}</p>
    ${fieldList(document.components.schemas[bodyName(operation)]!)}`
  return article(`event-${kind}`, kind, about, { Body: prettyJson(example) })
}

function bodyName({ requestBody }: Operation): string {
  return refName(requestBody?.content['application/json']?.schema ?? {}) ?? ''
}

/** The bodies of events are shown with the events. */
function objectsOf(document: Document): [name: string, Schema][] {
  const bodies = new Set(Object.values(document.webhooks).map(({ post }) => bodyName(post)))
  return Object.entries(document.components.schemas).filter(([name]) => !bodies.has(name))
}

function objectSection(document: Document): Html {
  return html`<section>
    <h2 id="objects">Objects</h2>
    ${objectsOf(document).map(([name, schema]) =>
      article(objectId(name), name, fieldList(schema), { Example: exampleText(document, schema) }),
    )}
  </section>`
}

function errorSection(): Html {
  return html`<section>
    <h2 id="errors">Error codes</h2>
    <p>
      Every refused request under <code>/api</code> carries one of these codes in the header <code>Guiche-Error</code>.
      Branch on the code, not on the text. New codes may be added; a code is never renamed.
    </p>
    <ul class="fields">
      ${Object.entries(ERRORS).map(
        ([code, [status, meaning]]) =>
          html`<li id="error-${code}">
            <code>${code}</code> <b class="status">${status}</b>
            <p>${prose(meaning)}</p>
          </li>`,
      )}
    </ul>
  </section>`
}
