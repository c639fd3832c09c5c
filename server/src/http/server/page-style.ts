// The style of all pages. Text has a contrast of at least 4.5:1 in both schemes, and nothing is loaded from elsewhere.
const STYLE = `
:root {
  --ground: #f4f6f5; --card: #fff; --ink: #14211c; --soft: #55635d; --line: #d9e1dd; --accent: #08745a;
  --on-accent: #fff; --mark: #3d3a8c; --mark-ground: #ecebfb; --good: #08745a; --good-ground: #dff4eb; --wait: #7d5200;
  --wait-ground: #fdf1d6; --bad: #b3261e; --bad-ground: #fcebe9; --done: #08745a; --still: #46524d;
  --still-ground: #eef2f0;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ground: #0e1412; --card: #18211d; --ink: #e9f1ed; --soft: #a3b3ab; --line: #2f3c36; --accent: #3ecf9f;
    --on-accent: #06251b; --mark: #c6c4ff; --mark-ground: #23214a; --good: #5fdcb1; --good-ground: #103529;
    --wait: #f2c66d; --wait-ground: #352a10; --bad: #ff9d94; --bad-ground: #3b1a17; --done: #0c6a52; --still: #c3ccc8;
    --still-ground: #202b26;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; min-height: 100vh; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main { max-width: 27rem; margin: 0 auto; padding: 1rem; }
main.wide { max-width: 40rem; }
.sandbox {
  margin: 0; padding: 0.4rem 1rem; background: var(--mark-ground); color: var(--mark); font-size: 0.875rem;
  font-weight: 600; text-align: center;
}
.unseen {
  position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); white-space: nowrap;
}
.js, .paper { display: none; }
.scripted .js { display: block; }
.card {
  background: var(--card); border: 1px solid var(--line); border-radius: 1rem; padding: 1.25rem;
  box-shadow: 0 1px 2px rgb(0 0 0 / 0.04), 0 8px 24px rgb(0 0 0 / 0.05);
}
h1 { margin: 0; font-size: 1.375rem; font-weight: 650; line-height: 1.3; }
.state {
  display: flex; flex-direction: column; align-items: center; gap: 0.75rem; margin: -1.25rem -1.25rem 1.25rem;
  padding: 1.75rem 1.25rem; border-radius: 1rem 1rem 0 0; background: var(--still-ground); color: var(--still);
  text-align: center;
}
.state svg { flex: none; width: 4rem; height: 4rem; }
.COMPLETED .state { background: var(--done); color: #fff; }
.CLOSING .state, .EXPIRED .state, .HELD .state { background: var(--wait-ground); color: var(--wait); }
.CANCELED .state { background: var(--bad-ground); color: var(--bad); }
.PENDING .state { flex-direction: row; margin-bottom: 1rem; padding: 0.75rem 1.25rem; text-align: left; }
.PENDING .state svg { width: 1.5rem; height: 1.5rem; }
.PENDING h1 { font-size: 1rem; }
.state p { margin: 0; font-size: 0.8125rem; line-height: 1.35; }
.state .left { margin-left: auto; font-size: 1.25rem; font-weight: 650; font-variant-numeric: tabular-nums; }
.payee, .about { margin: 0 0 0.15rem; color: var(--soft); overflow-wrap: anywhere; }
.payee b { color: var(--ink); font-weight: 600; }
.amount {
  margin: 0; font-size: clamp(1.9rem, 10vw, 2.6rem); font-weight: 700; letter-spacing: -0.02em; line-height: 1.25;
  white-space: nowrap; font-variant-numeric: tabular-nums;
}
.amount.long { font-size: clamp(1.3rem, 6.8vw, 2rem); }
.CLOSING .amount, .EXPIRED .amount, .CANCELED .amount {
  color: var(--soft); text-decoration: line-through; text-decoration-thickness: 2px;
}
.about { color: var(--ink); }
.note { margin: 0.75rem 0 0; }
.COMPLETED .note { color: var(--soft); }
:is(.COMPLETED, .PENDING) .held { padding: 0.75rem 1rem; border-radius: 0.75rem; background: var(--wait-ground); color: var(--wait); }
.qr {
  margin: 1rem auto; width: min(100%, 15.5rem); border-radius: 0.75rem; overflow: hidden; background: #fff;
  border: 1px solid var(--line);
}
.qr svg { display: block; }
.code { display: flex; flex-direction: column; margin-top: 1rem; }
.small { font-size: 0.875rem; }
.contact { margin-bottom: 0.4rem; }
label { display: block; margin-bottom: 0.3rem; font-size: 0.9375rem; font-weight: 600; }
input {
  display: block; width: 100%; height: 2.75rem; padding: 0 0.75rem; border: 1px solid var(--line);
  border-radius: 0.6rem; background: var(--ground); color: var(--ink);
  font: 0.8125rem/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; text-overflow: ellipsis;
}
button, .go {
  width: 100%; min-height: 3rem; margin-top: 0.6rem; padding: 0.7rem 1rem; border: 2px solid var(--accent);
  border-radius: 0.6rem; background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 650;
  line-height: 1.3; cursor: pointer;
}
.go { display: block; margin-top: 1.25rem; text-align: center; text-decoration: none; overflow-wrap: anywhere; }
a.go { color: var(--on-accent); }
button:hover, .go:hover { filter: brightness(1.07); }
button.done { background: var(--good-ground); color: var(--good); }
button.done::before { content: "\\2713\\a0"; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
h2 { margin: 1.5rem 0 0.25rem; font-size: 0.9375rem; }
ul, ol { margin: 0.25rem 0; padding-left: 1.3rem; }
.steps ol { color: var(--soft); font-size: 0.9375rem; }
.steps li { margin-top: 0.25rem; }
.bank {
  margin: 1.25rem 0 0; padding: 0.75rem 0.9rem 0.9rem; border: 1px dashed var(--mark); border-radius: 0.75rem;
  background: var(--mark-ground); color: var(--mark); font-size: 0.875rem;
}
.bank p { margin: 0; }
.bank button { border-color: var(--mark); background: none; color: inherit; }
.facts {
  margin: 1rem 0 0; padding: 1rem 0 0; border-top: 1px solid var(--line); display: grid; gap: 0.4rem;
  font-size: 0.9375rem;
}
.facts div { display: flex; justify-content: space-between; gap: 1rem; }
.facts dt { color: var(--soft); white-space: nowrap; }
.facts dd { margin: 0; text-align: right; }
footer { margin: 1rem 0; color: var(--soft); font-size: 0.8125rem; text-align: center; }
footer p { margin: 0; }
nav a, nav b { display: inline-block; padding: 0.4rem 0.5rem; }
a { color: var(--accent); }
pre {
  margin: 0.5rem 0; padding: 0.75rem 0.9rem; border: 1px solid var(--line); border-radius: 0.6rem;
  background: var(--ground); overflow-x: auto;
  font: 0.875rem/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
}
@media (min-width: 40rem) {
  main { padding-top: 3rem; }
  .qr { order: -1; }
}
@media (min-width: 52rem) {
  main.pay { max-width: 50rem; }
  .card.PENDING { display: grid; grid-template: auto auto 1fr / 1fr 18rem; column-gap: 2.5rem; padding: 1.75rem; }
  .PENDING .state { grid-column: 1 / 3; margin: -1.75rem -1.75rem 1.75rem; padding: 0.9rem 1.75rem; }
  .PENDING .code { grid-area: 2 / 2 / 4 / 3; margin: 0; }
  .PENDING .qr { margin-top: 0; width: 100%; }
  .PENDING .bank { grid-column: 1 / 3; }
}
@media print {
  :root { color-scheme: light; --ground: #fff; }
  .card { box-shadow: none; break-inside: avoid; }
  .scripted .js, input, nav, .bank, .go { display: none; }
  .paper { display: block; margin: 0; font: 0.75rem ui-monospace, monospace; overflow-wrap: anywhere; }
}
`

/** Without the line breaks and spaces of the source. */
export const PAGE_STYLE = STYLE.replaceAll(/\s*\n\s*|(?<=[{;:,]) | (?=[{}])/g, '')
