'use client'

import { createElement, useEffect, useLayoutEffect, useRef, type ReactElement, type ReactNode } from 'react'

/** What the events of `<guiche-pix>` carry. It is news for the page, and never a proof of payment. */
export type GuichePixDetail = {
  paymentLinkId: string
  /** The status of the deposit: `PENDING` of money that is under review. */
  status: 'PENDING' | 'COMPLETED' | 'EXPIRED' | 'CANCELED'
}

export type GuichePixAttributes = {
  /** Default: the nearest `lang` of the page, then the browser's language. */
  lang?: string | undefined
  /** Default: the one that the device prefers. */
  theme?: 'light' | 'dark' | undefined
}

export type GuichePixProps = GuichePixAttributes & {
  /** The `paymentLinkUrl` of a deposit, from your own server. */
  paymentLink: string
  /**
   * Where guiche runs, such as `https://pay.example.com`. The script of the element is loaded from there, by default
   * from the origin of `paymentLink`. Set it if anybody but your own server could choose `paymentLink`.
   */
  serviceUrl?: string | undefined
  className?: string | undefined
  /** What is shown until the script has arrived, such as a link to the payment page. */
  children?: ReactNode
  /**
   * Move the page on, and nothing else. Anybody can make this happen in their own browser: deliver goods by webhooks,
   * or when your server has seen `COMPLETED` in the API.
   */
  onPaid?: ((detail: GuichePixDetail) => void) | undefined
  /** It expired or was canceled: `status` says which. Nobody should pay it anymore. */
  onExpired?: ((detail: GuichePixDetail) => void) | undefined
  /** Another amount arrived, and is under review. The payer must not pay again. */
  onHeld?: ((detail: GuichePixDetail) => void) | undefined
}

/** Of the element itself, where it is written without the component. */
export type GuichePixElementProps = GuichePixAttributes & {
  'payment-link': string
  class?: string | undefined
  children?: ReactNode
}

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      'guiche-pix': GuichePixElementProps
    }
  }
}

/** The element `<guiche-pix>`, which shows a payment and follows it. Its script is loaded once, in the browser only. */
export function GuichePix(props: GuichePixProps): ReactElement {
  const { paymentLink, serviceUrl, className, children, lang, theme, onPaid, onExpired, onHeld } = props
  const element = useRef<Target>(null)
  useEffect(() => loadElement(scriptOf(paymentLink, serviceUrl)), [paymentLink, serviceUrl])
  useEarlyEffect(() => {
    const target = element.current
    const handlers = { 'guiche-paid': onPaid, 'guiche-expired': onExpired, 'guiche-held': onHeld }
    const listeners = Object.entries(handlers).map(([name, handler]) => {
      const listener = ({ detail }: { detail: GuichePixDetail }) => handler?.(detail)
      target?.addEventListener(name, listener)
      return () => target?.removeEventListener(name, listener)
    })
    return () => listeners.forEach((forget) => forget())
  }, [onPaid, onExpired, onHeld])
  const attributes = { ref: element, 'payment-link': paymentLink, class: className, lang, theme }
  return createElement('guiche-pix', attributes, children)
}

type Listener = (event: { detail: GuichePixDetail }) => void
type Target = Record<'addEventListener' | 'removeEventListener', (name: string, listener: Listener) => void>
type Script = { type: string; src: string; remove(): void; addEventListener(name: 'error', failed: () => void): void }
// The types of this package hold what every runtime has, and a document is in browsers alone.
declare const document: { createElement(tag: 'script'): Script; head: { append(script: Script): void } }

// An element whose script is there already asks at once, and its answer may come before other effects have run. Servers
// run none, and React 18 warns there of early ones.
const useEarlyEffect = typeof document === 'undefined' ? useEffect : useLayoutEffect

function scriptOf(paymentLink: string, serviceUrl: string | undefined): string | undefined {
  if (serviceUrl !== undefined) return `${serviceUrl.replace(/\/+$/, '')}/elements/guiche-pix.js`
  try {
    // Relative to the link, for a service behind a proxy that serves it under a path.
    return new URL('../elements/guiche-pix.js', paymentLink).href
  } catch {
    // Not there yet, or no link: the children stay, and the page does not fail with it.
    return undefined
  }
}

const loaded = new Set<string>()

function loadElement(src: string | undefined): void {
  if (src === undefined || loaded.has(src)) return
  loaded.add(src)
  const script = document.createElement('script')
  script.type = 'module'
  script.src = src
  // The next element that is shown tries again.
  script.addEventListener('error', () => {
    loaded.delete(src)
    script.remove()
  })
  document.head.append(script)
}
