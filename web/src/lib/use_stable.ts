import {useCallback, useLayoutEffect, useRef} from 'react'

// useStable gives a function that stays the same and calls that of the last render: a handler for components that compare what they are given. It must not be called while rendering.
export function useStable<A extends unknown[], R>(now: (...args: A) => R): (...args: A) => R {
  const last = useRef(now)
  useLayoutEffect(() => {
    last.current = now
  })
  return useCallback((...args: A) => last.current(...args), [])
}
