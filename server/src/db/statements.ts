// Comments, strings, quoted names and bodies of functions, in which a semicolon ends nothing.
const TOKENS = /--[^\n]*|\/\*[^]*?\*\/|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$[^]*?\$\1\$|;|[^;'"$/-]+|[^]/g

/** The statements of a migration, each with the comments above it. */
export function splitStatements(sql: string): string[] {
  const statements: string[] = []
  let text = ''
  for (const [token] of `${sql};`.matchAll(TOKENS)) {
    if (token !== ';') text += token
    else {
      if (withoutComments(text).trim() !== '') statements.push(text.trim())
      text = ''
    }
  }
  return statements
}

export function withoutComments(sql: string): string {
  return sql.replaceAll(TOKENS, (token) => (/^(--|\/\*)/.test(token) ? ' ' : token))
}
