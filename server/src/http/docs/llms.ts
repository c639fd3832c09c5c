import { GUIDE_PAGES, guideMarkdown, fillFacts, plainMarkdown, readGuide } from './guide.ts'

// The guide for programs that read text, as llmstxt.org proposes: a short one with links, and all of it in one file.

const INTRODUCTION = `# guiche

> A deposit service for Pix, Brazil's instant payments. A program asks for a deposit over HTTP, the payer pays it with
> any banking app, and the balance of the account is credited exactly once.

- Base URL: {{url}}
- Authentication: \`Authorization: Bearer <API key>\`. Keys begin with \`gk_test_\` or \`gk_live_\`.
- Bodies are JSON. Amounts are integers in cents of Brazilian reais: 5000 is R$ 50.00. Times are ISO 8601 in UTC.
- Answers under \`/api\` are \`{ "success": true, … }\` or \`{ "success": false, "error": "…" }\`. Branch on the status and
  on the header \`Guiche-Error\`, never on the text.
- Ask for the deposit of an order with \`PUT /api/orders/:externalId/deposit\`. It is safe to repeat, and it never makes a
  second code that could be paid.
- Believe a payment only from the API or from a webhook whose signature matches.

## The deposit of an order

{{sample ensure}}

## Is it paid?

{{sample paid}}`

export function llmsText(publicUrl: string): string {
  const pages = GUIDE_PAGES.map((page) => {
    const { title, blocks } = readGuide(page, 'en', publicUrl)
    const [lead] = blocks.filter((block) => block.kind === 'paragraph')
    return `- [${title}](${page}.md): ${lead?.text.replaceAll('\n', ' ')}`
  })
  const more = [
    '- [The API reference](/docs/reference): every operation, field and error code',
    '- [OpenAPI 3.1](/openapi.json): the same for programs',
    '- [All pages in one file](/llms-full.txt)',
  ]
  const text = `${introduction(publicUrl)}\n\n## Guide\n\n${pages.join('\n')}\n\n## Reference\n\n${more.join('\n')}\n`
  return plainMarkdown(text, publicUrl)
}

export function llmsFullText(publicUrl: string): string {
  const pages = GUIDE_PAGES.map((page) => guideMarkdown(page, 'en', publicUrl).trim())
  return plainMarkdown(`${[introduction(publicUrl), ...pages].join('\n\n')}\n`, publicUrl)
}

function introduction(publicUrl: string): string {
  return fillFacts(INTRODUCTION, 'en', publicUrl)
}
