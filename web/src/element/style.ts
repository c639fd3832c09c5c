const DARK = `
  --ground: #18211d; --ink: #e9f1ed; --soft: #a3b3ab; --line: #4d5c55; --main: #3ecf9f; --on-main: #06251b;
  --good: #5fdcb1; --wait: #f2c66d; --bad: #ff9d94;`

// Text has a contrast of at least 4.5:1 in both schemes. What a page may set is in docs/element.md.
const CSS = `
:host {
  --ground: #fff; --ink: #14211c; --soft: #55635d; --line: #7f8d87; --main: #08745a; --on-main: #fff;
  --good: #08745a; --wait: #7d5200; --bad: #b3261e;
  display: block; max-width: 40rem;
}
@media (prefers-color-scheme: dark) { :host(:not([theme=light])) { ${DARK} } }
:host([theme=dark]) { ${DARK} }
:host([hidden]), [hidden] { display: none; }
* { box-sizing: border-box; }
p { margin: 0 0 .4rem; overflow-wrap: anywhere; }
[part=card], .trouble {
  padding: 1.25rem; border: 1px solid var(--guiche-border, var(--line)); border-radius: var(--guiche-radius, 1rem);
  background: var(--guiche-background, var(--ground)); color: var(--guiche-text, var(--ink));
  font: 1rem/1.5 var(--guiche-font, system-ui, sans-serif);
}
.trouble { margin: .5rem 0 0; padding: .6rem 1.25rem; }
[part=sandbox], [part=payee], [part=note] { color: var(--guiche-muted, var(--soft)); font-size: .9375rem; }
[part=sandbox] { font-weight: 600; }
[part=payee] b { color: var(--guiche-text, var(--ink)); }
[part=state] { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem; }
[part=timer] { margin-left: auto; font-weight: 650; font-variant-numeric: tabular-nums; }
.icon { flex: none; width: 1.5rem; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; }
[part=amount] { font-size: 1.9rem; font-weight: 700; line-height: 1.25; font-variant-numeric: tabular-nums; }
[data-state=COMPLETED] [part=state] { color: var(--guiche-success, var(--good)); }
:is([data-state=CLOSING], [data-state=EXPIRED], [data-state=HELD]) [part=state] { color: var(--guiche-warning, var(--wait)); }
[data-state=CANCELED] [part=state] { color: var(--guiche-danger, var(--bad)); }
:is([data-state=CLOSING], [data-state=EXPIRED], [data-state=CANCELED]) [part=amount] { text-decoration: line-through; }
.pay { display: flex; flex-wrap: wrap; gap: 1rem 1.5rem; margin-top: .75rem; }
.copy { flex: 2 1 13rem; }
[part=qr] {
  flex: 1 1 12rem; max-width: 15.5rem; margin: 0 auto; border-radius: .75rem; background: #fff; overflow: hidden;
  forced-color-adjust: none;
}
[part=qr] svg { display: block; fill: #000; }
[part=label] { display: block; margin-bottom: .3rem; font-size: .9375rem; font-weight: 600; }
[part=code] {
  display: block; width: 100%; min-height: 2.75rem; padding: 0 .75rem; border: 1px solid var(--guiche-border, var(--line));
  border-radius: .6rem; background: transparent; color: inherit; font: .8125rem ui-monospace, monospace;
  text-overflow: ellipsis;
}
[part=button] {
  width: 100%; min-height: 3rem; margin-top: .6rem; padding: .7rem 1rem; border: 2px solid transparent; border-radius: .6rem;
  background: var(--guiche-accent, var(--main)); color: var(--guiche-accent-text, var(--on-main));
  font: inherit; font-weight: 650; cursor: pointer;
}
:focus-visible { outline: 3px solid var(--guiche-accent, var(--main)); outline-offset: 2px; }
.unseen { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); }
@media (pointer: fine) { [part=qr] { order: -1; } }
`

/** No policy of a page forbids a constructed style sheet. Browsers before 2023 have none. */
export function applyStyle(root: ShadowRoot): void {
  try {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(CSS)
    root.adoptedStyleSheets = [sheet]
  } catch {
    const style = document.createElement('style')
    style.textContent = CSS
    root.prepend(style)
  }
}
