import { createElement, useEffect, useState, type ComponentType, type ReactNode } from 'react'

/**
 * A component that is loaded when it is first shown, with something in its place until then. Not by Suspense, which holds back for up to 300 ms what arrives
 * when something else has just been shown.
 */
export function late<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  meanwhile: ReactNode = null,
): ComponentType<Props> {
  return function Late(props) {
    const [loaded, setLoaded] = useState<ComponentType<Props>>()
    const [failure, setFailure] = useState<unknown>()
    useEffect(() => void load().then((component) => setLoaded(() => component), setFailure), [])
    // Files of an older build are gone: the error page, where the reader loads the new one.
    if (failure !== undefined) throw failure
    return loaded ? createElement(loaded, props) : meanwhile
  }
}
