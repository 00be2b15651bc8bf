import {useCallback, useLayoutEffect, useRef} from 'react'

// useStable returns a function with a stable identity that calls the function of the last render:
// it is a handler for memoized components. It must not be called while rendering.
export function useStable<A extends unknown[], R>(now: (...args: A) => R): (...args: A) => R {
  const last = useRef(now)
  useLayoutEffect(() => {
    last.current = now
  })
  return useCallback((...args: A) => last.current(...args), [])
}
