import { REFERENCE_STYLE } from './reference-style.ts'

// Beside reference-style.ts, with whose menu and code the guide looks like the reference. The menu of a narrow screen
// begins with the page that is open, which would else be out of sight.
const STYLE = `
.guide main { max-width: 58rem; }
.guide h1 { margin-bottom: 1rem; font-size: 1.75rem; }
.guide h2 { margin-top: 2.5rem; font-size: 1.25rem; }
.guide h3 { margin-top: 1.75rem; font-size: 1.0625rem; }
.guide h2 a { color: inherit; text-decoration: none; }
.guide h2 a:hover { text-decoration: underline; }
.guide li { margin-top: 0.35rem; }
.guide main > ul, .guide main > ol { max-width: 46rem; margin: 0.75rem 0; }
.guide li code, .guide td code, .guide th code { padding: 0.05rem 0.2rem; border-radius: 0.3rem; background: var(--card); }
.guide nav a[aria-current], .guide nav a[aria-current]:hover { background: var(--still-ground); color: var(--ink); font-weight: 650; }
.guide nav > ul > li > a { margin-top: 0; color: var(--soft); font-weight: 400; }
.guide table { width: 100%; margin: 1rem 0; border-collapse: collapse; font-size: 0.9375rem; }
.guide th, .guide td { padding: 0.5rem 0.75rem 0.5rem 0; border-top: 1px solid var(--line); text-align: left; vertical-align: top; overflow-wrap: anywhere; }
.guide :is(td, th):first-child, .guide :is(td, th):first-child code { overflow-wrap: break-word; }
.guide thead :is(th, td) { border-top: 0; color: var(--soft); font-size: 0.8125rem; font-weight: 600; overflow-wrap: break-word; }
.guide tbody th { font-weight: 400; }
.choices { display: flex; flex-wrap: wrap; gap: 0.25rem; font-size: 0.875rem; }
.choices a, .choices b { padding: 0.35rem 0.6rem; border-radius: 0.4rem; color: var(--soft); text-decoration: none; }
.choices a:hover { text-decoration: underline; }
.choices b { background: var(--still-ground); color: var(--ink); }
.guide main > .choices { justify-content: flex-end; max-width: none; margin: 0 0 1rem; }
.sample { margin: 1rem 0 1.5rem; scroll-margin-top: 1rem; }
.sample .choices { margin: 0; }
.guide pre { margin: 0.75rem 0 1.25rem; font-size: 0.8125rem; }
.sample pre { margin: 0.25rem 0 0; }
.guide .neighbours { display: flex; justify-content: space-between; gap: 1rem; max-width: none; margin-top: 3rem; padding-top: 1.5rem; border-top: 1px solid var(--line); }
@media (max-width: 50rem) {
  .guide nav > ul > li > a { padding: 0.5rem; }
  .guide nav li:has([aria-current]) { order: -1; }
  .sample { scroll-margin-top: 4rem; }
}
@media print {
  .choices, .neighbours { display: none; }
}
`

export const GUIDE_STYLE = REFERENCE_STYLE + STYLE.replaceAll(/\s*\n\s*/g, '')
