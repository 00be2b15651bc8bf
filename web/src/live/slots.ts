const slots = ['hocket-run-1', 'hocket-run-2', 'hocket-run-3']

// holdSlot calls f while this tab has one of the three places for streams of runs that all tabs of a browser share; false: none is free, or there are no locks.
// Browsers have six connections to an origin over HTTP/1.1: with the feed that leaves two for all else.
export async function holdSlot(stop: AbortSignal, f: () => Promise<void>): Promise<boolean> {
  if (!('locks' in navigator)) return false
  for (const name of slots) {
    if (stop.aborted) return false
    const held = await navigator.locks.request(`${name}:${window.location.host}`, {ifAvailable: true}, async lock => {
      if (!lock) return false
      await f()
      return true
    })
    if (held) return true
  }
  return false
}
