// The look of every page of ours. Contrast of text is at least 4.5:1 in both schemes; nothing is loaded from anywhere.
export const PAGE_STYLE = `
:root {
  --ground: #f3f5f4;
  --card: #fff;
  --ink: #14211c;
  --soft: #55635d;
  --line: #dce3df;
  --accent: #0a7d5f;
  --on-accent: #fff;
  --mark: #3d3a8c;
  --mark-ground: #e9e8fb;
  --good: #0a7d5f;
  --good-ground: #e2f5ee;
  --wait: #8a5a00;
  --wait-ground: #fdf3dc;
  --bad: #b3261e;
  --bad-ground: #fcebe9;
  --still: #4b5563;
  --still-ground: #eceff1;
}
@media (prefers-color-scheme:dark) {
  :root {
    --ground: #0e1412;
    --card: #18211d;
    --ink: #e9f1ed;
    --soft: #a3b3ab;
    --line: #2c3833;
    --accent: #3ecf9f;
    --on-accent: #06251b;
    --mark: #c6c4ff;
    --mark-ground: #23214a;
    --good: #5fdcb1;
    --good-ground: #103127;
    --wait: #f2c66d;
    --wait-ground: #352a10;
    --bad: #ff9d94;
    --bad-ground: #3b1a17;
    --still: #c3ccc8;
    --still-ground: #27302c;
  }
}
* {
  box-sizing: border-box;
}
html {
  -webkit-text-size-adjust: 100%;
}
body {
  margin: 0;
  min-height: 100vh;
  background: var(--ground);
  color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
main {
  max-width: 27rem;
  margin: 0 auto;
  padding: 1rem;
}
main.wide {
  max-width: 40rem;
}
@media (min-width:40rem) {
  main {
    padding-top: 3rem;
  }
}
.sandbox {
  margin: 0;
  padding: 0.5rem 1rem;
  background: var(--mark-ground);
  color: var(--mark);
  font-size: 0.875rem;
  font-weight: 600;
  text-align: center;
}
.card {
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: 1rem;
  padding: 1.25rem;
  box-shadow: 0 1px 2px rgb(0 0 0 / 0.04), 0 8px 24px rgb(0 0 0 / 0.05);
}
.state {
  display: flex;
  align-items: center;
  gap: 0.75rem;
  margin: -1.25rem -1.25rem 1.1rem;
  padding: 0.75rem 1.25rem;
  border-radius: 1rem 1rem 0 0;
  font-weight: 650;
  line-height: 1.3;
}
.state small {
  display: block;
  font-size: 0.875rem;
  font-weight: 400;
}
.state svg {
  flex: none;
  width: 1.75rem;
  height: 1.75rem;
}
.state.closed {
  flex-direction: column;
  gap: 0.6rem;
  padding: 1.5rem 1.25rem;
  font-size: 1.375rem;
  text-align: center;
}
.state.closed svg {
  width: 3.5rem;
  height: 3.5rem;
}
.PENDING,.CLOSING {
  background: var(--wait-ground);
  color: var(--wait);
}
.COMPLETED {
  background: var(--good-ground);
  color: var(--good);
}
.CANCELED {
  background: var(--bad-ground);
  color: var(--bad);
}
.EXPIRED,.MISSING {
  background: var(--still-ground);
  color: var(--still);
}
h1 {
  margin: 0;
  font-size: 1rem;
  font-weight: 400;
  color: var(--soft);
  overflow-wrap: anywhere;
}
h1 b {
  color: var(--ink);
  font-weight: 600;
}
h1.plain {
  color: var(--ink);
  font-size: 1.375rem;
  font-weight: 650;
  line-height: 1.3;
}
h2 {
  margin: 1.75rem 0 0.5rem;
  font-size: 1rem;
}
.amount {
  margin: 0.1rem 0 0.25rem;
  font-size: clamp(1.75rem, 9.5vw, 2.6rem);
  font-weight: 700;
  letter-spacing: -.02em;
  line-height: 1.2;
  white-space: nowrap;
  font-variant-numeric: tabular-nums;
}
.amount.long {
  font-size: clamp(1.3rem, 6.8vw, 2rem);
}
.past .amount {
  color: var(--soft);
  text-decoration: line-through;
  text-decoration-thickness: 2px;
}
.about {
  margin: 0;
  overflow-wrap: anywhere;
}
.note {
  margin: 0.75rem 0 0;
  color: var(--soft);
  font-size: 0.9375rem;
}
.note:first-child {
  margin-top: 0;
}
.qr {
  margin: 1rem auto;
  width: min(100%, 15rem);
  border-radius: 0.75rem;
  overflow: hidden;
  background: #fff;
  border: 1px solid var(--line);
  line-height: 0;
}
.qr svg {
  display: block;
  width: 100%;
  height: auto;
}
label {
  display: block;
  margin-bottom: 0.35rem;
  font-size: 0.9375rem;
  font-weight: 600;
}
input {
  display: block;
  width: 100%;
  height: 2.75rem;
  padding: 0 0.75rem;
  border: 1px solid var(--line);
  border-radius: 0.6rem;
  background: var(--ground);
  color: var(--ink);
  font: 0.8125rem/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  text-overflow: ellipsis;
}
button {
  display: block;
  width: 100%;
  min-height: 3rem;
  margin-top: 0.6rem;
  padding: 0.7rem 1rem;
  border: 0;
  border-radius: 0.6rem;
  background: var(--accent);
  color: var(--on-accent);
  font-family: inherit;
  font-size: 1rem;
  font-weight: 650;
  cursor: pointer;
}
button[hidden] {
  display: none;
}
button:hover {
  filter: brightness(1.07);
}
:focus-visible {
  outline: 3px solid var(--accent);
  outline-offset: 2px;
}
.facts {
  margin: 1rem 0 0;
  padding: 1rem 0 0;
  border-top: 1px solid var(--line);
  display: grid;
  gap: 0.4rem;
  font-size: 0.9375rem;
}
.facts div {
  display: flex;
  justify-content: space-between;
  gap: 1rem;
}
.facts dt {
  color: var(--soft);
  white-space: nowrap;
}
.facts dd {
  margin: 0;
  text-align: right;
  overflow-wrap: anywhere;
}
footer {
  margin: 1rem 0;
  color: var(--soft);
  font-size: 0.8125rem;
  text-align: center;
}
a {
  color: var(--accent);
}
ul {
  margin: 0.5rem 0;
  padding-left: 1.2rem;
}
code,pre {
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
  font-size: 0.875em;
}
pre {
  margin: 0.5rem 0;
  padding: 0.75rem 0.9rem;
  border: 1px solid var(--line);
  border-radius: 0.6rem;
  background: var(--ground);
  overflow-x: auto;
  line-height: 1.55;
}
`
