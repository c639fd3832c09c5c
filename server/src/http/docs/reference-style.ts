// Beside page-style.ts, whose colours it takes. Nothing scrolls sideways but the menu of a narrow screen.
const STYLE = `
html { scroll-padding-top: 1rem; }
.skip { position: absolute; left: -99rem; padding: 0.5rem 1rem; background: var(--card); }
.skip:focus { left: 0; z-index: 2; }
.reference { display: grid; grid-template-columns: 17rem minmax(0, 1fr); max-width: 96rem; margin: 0 auto; }
.reference nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.5rem 1rem; border-right: 1px solid var(--line); font-size: 0.875rem; }
.reference nav ul { margin: 0; padding: 0; list-style: none; }
.reference nav a { display: flex; justify-content: space-between; align-items: baseline; gap: 0.5rem; padding: 0.25rem 0.5rem; border-radius: 0.4rem; color: var(--soft); text-decoration: none; overflow-wrap: anywhere; }
.reference nav a:hover { background: var(--still-ground); color: var(--ink); }
.reference nav > ul > li > a { margin-top: 0.75rem; color: var(--ink); font-weight: 650; }
.reference main { max-width: none; margin: 0; padding: 2rem 2.5rem 6rem; }
.reference h1 { font-size: 2rem; }
.reference h2 { margin: 3rem 0 0.5rem; font-size: 1.5rem; }
.reference h3 { margin: 0; font-size: 1.125rem; }
.reference h3 a { color: inherit; text-decoration: none; }
.reference h3 a:hover { text-decoration: underline; }
.reference h4 { margin: 1.5rem 0 0.25rem; font-size: 0.875rem; }
.reference p { margin: 0.5rem 0; max-width: 46rem; }
.reference article { padding: 2rem 0; border-top: 1px solid var(--line); }
.reference article:target h3 { color: var(--accent); }
.reference code { font: 0.875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
.reference p code, .reference li > code { padding: 0.05rem 0.2rem; border-radius: 0.3rem; background: var(--card); }
.reference .path code, .operations code, .fields > li > code:first-child { padding: 0; background: none; font-weight: 650; }
.reference pre { background: var(--card); font-size: 0.75rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.reference pre code { font-size: inherit; }
.path { overflow-wrap: anywhere; }
.reference .method { flex: none; padding: 0; white-space: nowrap; font-size: 0.6875rem; letter-spacing: 0.03em; color: var(--mark); }
.reference .POST { color: var(--good); }
.reference .PATCH { color: var(--wait); }
.reference .DELETE { color: var(--bad); }
.reference .path .method, .operations .method.method, .status { display: inline-block; padding: 0.05rem 0.45rem; border-radius: 0.35rem; background: var(--still-ground); font-size: 0.75rem; }
.status { color: var(--still); }
.required { color: var(--wait); font-size: 0.75rem; }
.type, .soft, .key { color: var(--soft); font-size: 0.875rem; }
.fields, .operations { margin: 0.5rem 0; padding: 0; list-style: none; }
.fields li { padding: 0.6rem 0; border-top: 1px solid var(--line); font-size: 0.9375rem; }
.fields li:target { background: var(--mark-ground); }
.fields p { margin: 0.15rem 0 0; }
.fields .fields { margin: 0.6rem 0 0; padding-left: 1rem; border-left: 2px solid var(--line); }
.fields .fields > li:first-child { border-top: 0; padding-top: 0; }
.operations { padding: 0.5rem 1rem; border: 1px solid var(--line); border-radius: 0.6rem; background: var(--card); }
.operations a { display: block; padding: 0.2rem 0; color: inherit; text-decoration: none; overflow-wrap: anywhere; }
.operations a:hover code { text-decoration: underline; }
.operations .method { min-width: 4rem; text-align: center; }
summary { padding: 0.5rem 0; cursor: pointer; font-size: 0.9375rem; font-weight: 600; }
@media (min-width: 70rem) {
  .reference article { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 27rem); gap: 2.5rem; }
  .samples { position: sticky; top: 1rem; align-self: start; }
  .samples h4:first-child { margin-top: 0; }
}
@media (max-width: 50rem) {
  html { scroll-padding-top: 4rem; }
  .reference { display: block; }
  .reference nav { z-index: 1; height: auto; padding: 0.4rem 1rem; border: 0; border-bottom: 1px solid var(--line); background: var(--card); overflow-x: auto; }
  .reference nav > ul { display: flex; gap: 0.25rem; }
  .reference nav ul ul { display: none; }
  .reference nav > ul > li > a { margin: 0; padding: 0.5rem; white-space: nowrap; }
  .reference main { padding: 1.25rem 1rem 4rem; }
}
@media print {
  .reference nav { display: none; }
  .reference { display: block; }
}
`

export const REFERENCE_STYLE = STYLE.replaceAll(/\s*\n\s*/g, '')
