import { GuichePix } from '@guiche/sdk/react'
import { useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'

const ASK_EVERY_MS = 1_000

function Shop() {
  const [order, setOrder] = useState()
  const [isPaid, setPaid] = useState(false)
  const buy = async () => setOrder(await (await fetch('/orders', { method: 'POST' })).json())
  if (isPaid) return <Goods order={order.order} />
  return (
    <>
      <h1>A bag of coffee</h1>
      <p>R$ 50,00</p>
      {order ? (
        // This is news, and no proof: it moves the page on. The server delivers when guiche tells it, by the webhook.
        <GuichePix paymentLink={order.paymentLinkUrl} onPaid={() => setPaid(true)} onExpired={() => setOrder()} />
      ) : (
        <button type="button" onClick={() => void buy()}>
          Pay with Pix
        </button>
      )}
    </>
  )
}

function Goods({ order }) {
  const [goods, setGoods] = useState('')
  useEffect(() => {
    if (goods) return undefined
    const ask = async () => setGoods((await (await fetch(`/orders/${order}`)).json()).goods ?? '')
    const asking = setInterval(() => void ask(), ASK_EVERY_MS)
    return () => clearInterval(asking)
  }, [order, goods])
  return <p role="status">{goods ? `Thank you. Your voucher: ${goods}` : 'Thank you. Your order is on its way…'}</p>
}

createRoot(document.querySelector('#root')).render(<Shop />)
