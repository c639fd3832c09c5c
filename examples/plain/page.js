const ASK_EVERY_MS = 1_000
const ASK_TIMES = 60

const [buy, checkout, news] = ['#buy', '#checkout', '#news'].map((selector) => document.querySelector(selector))

buy.addEventListener('click', () => void pay())

async function pay() {
  buy.disabled = true
  const { order, paymentLinkUrl } = await (await fetch('/orders', { method: 'POST' })).json()
  const pix = document.createElement('guiche-pix')
  pix.setAttribute('payment-link', paymentLinkUrl)
  // This is news, and no proof: it moves the page on. The server delivers when guiche tells it, by the webhook.
  pix.addEventListener('guiche-paid', () => void showGoods(order))
  pix.addEventListener('guiche-expired', () => (buy.disabled = false))
  checkout.replaceChildren(pix)
}

async function showGoods(order) {
  news.textContent = 'Thank you. Your order is on its way…'
  for (let asked = 0; asked < ASK_TIMES; asked++) {
    const { goods } = await (await fetch(`/orders/${order}`)).json()
    if (goods) return void (news.textContent = `Thank you. Your voucher: ${goods}`)
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS))
  }
  news.textContent = `Your payment arrived. If nothing else does, tell us your order: ${order}`
}
