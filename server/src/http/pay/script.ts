/**
 * Copies with one tap, counts down by the server's clock, and updates the page. Updates come as server-sent events, or
 * by polling if the stream fails. A hidden page has no stream: a browser allows six connections per host. A new state
 * is fetched as a page that replaces the old one.
 */
const SCRIPT = `
const LOOK_MS = 5000, SILENCE_MS = 20000, RECONNECT_MS = 30000
const $ = (selector, root = document) => root.querySelector(selector)
let card, endsAt, stream, heardAt = Date.now(), looking = false, again = false
document.documentElement.classList.add('scripted')
take($('main'))
listen()
const ticking = setInterval(tick, 1000)
const watching = setInterval(() => { if (Date.now() - heardAt > SILENCE_MS) look() }, LOOK_MS)
tick()
if (location.hash === '#print') print()

function take(main) {
  card = $('[data-state]', main)
  endsAt = Date.now() + Number(card.dataset.leftMs)
}

function tick() {
  const seconds = Math.ceil((endsAt - Date.now()) / 1000), shown = $('#left')
  if (!shown) return
  if (seconds <= 0) look()
  const two = (n) => String(n).padStart(2, '0'), s = Math.max(0, seconds), h = Math.floor(s / 3600)
  // The banner says the day.
  shown.textContent = h > 47 ? '' : (h ? h + ':' : '') + two(Math.floor(s / 60) % 60) + ':' + two(s % 60)
}

function listen() {
  if (!window.EventSource || !card.dataset.events || document.hidden) return
  hush()
  const source = stream = new EventSource(card.dataset.events)
  source.onmessage = (event) => {
    heardAt = Date.now()
    const { status, heldValue = 0, keptValue = 0 } = JSON.parse(event.data)
    if (status !== 'PENDING') hush()
    if (status !== 'PENDING' || heldValue + ' ' + keptValue !== card.dataset.held) look()
  }
  source.onerror = () => {
    if (source.readyState !== 2 || source !== stream) return
    heardAt = 0
    setTimeout(() => { if (source === stream) listen() }, RECONNECT_MS)
  }
}

function hush() {
  if (stream) stream.close()
  stream = undefined
}

async function look() {
  if (document.hidden || !card.dataset.events) return
  // A fetch that began before the event may return an older state.
  if (looking) return again = true
  looking = true
  again = false
  try {
    const answer = await fetch(location.href)
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html'), main = $('main', next)
    if (!answer.ok || !main || !$('[data-state]', main)) return
    const { state, held, leftMs } = $('[data-state]', main).dataset
    if (state !== card.dataset.state || held !== card.dataset.held) show(main, next.title)
    else endsAt = Date.now() + Number(leftMs)
  } catch {} finally { looking = false }
  if (again) look()
}

function show(main, title) {
  $('main').replaceWith(main)
  take(main)
  document.title = $('#news').textContent = title
  scrollTo(0, 0)
  if (card.dataset.events) return
  hush()
  clearInterval(ticking)
  clearInterval(watching)
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) return hush()
  look()
  listen()
})

document.addEventListener('focusin', (event) => { if (event.target.id === 'code') event.target.select() })

document.addEventListener('click', async (event) => {
  const button = event.target.closest('#copy'), code = $('#code')
  if (!button) return
  const copied = await write(code)
  const words = copied ? button.dataset.done : button.dataset.failed
  const label = button.dataset.label = button.dataset.label || button.textContent
  button.textContent = $('#news').textContent = words
  button.classList.toggle('done', copied)
  clearTimeout(button.timer)
  button.timer = setTimeout(() => { button.textContent = label; button.classList.remove('done') }, 3000)
})

// Without https the clipboard API is not available, but the old command is.
async function write(code) {
  try { await navigator.clipboard.writeText(code.value); return true } catch {}
  const focused = document.activeElement
  code.select()
  const copied = document.execCommand('copy')
  if (copied && focused) focused.focus()
  return copied
}
`

export const PAYMENT_SCRIPT = SCRIPT.replaceAll(/\n\s*(\/\/.*)?/g, '\n')
