const slots = ['hocket-run-1', 'hocket-run-2', 'hocket-run-3']

// holdSlot calls f while this tab holds one of the three slots for run streams that all tabs of a
// browser share. It returns false if none is free, or if there are no locks. Browsers open six
// connections to an origin over HTTP/1.1: with the feed, that leaves two for everything else.
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
