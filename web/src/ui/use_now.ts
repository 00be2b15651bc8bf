import {useEffect, useState} from 'react'

// useNow returns the current time, updated at the given interval in milliseconds while it is on.
export function useNow(on: boolean, every = 1000): number {
  const [now, set] = useState(Date.now())
  useEffect(() => {
    if (!on) return
    const timer = setInterval(() => set(Date.now()), every)
    return () => clearInterval(timer)
  }, [on, every])
  return now
}
