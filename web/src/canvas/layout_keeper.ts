import type {Layout} from './operations.ts'

// Ports are what a keeper asks of the server.
export type Ports<S> = {
  store: (was: S, nodes: Layout) => Promise<S>
  again: () => Promise<S>
  isConflict: (err: unknown) => boolean
  failed: (err: unknown) => void
}

const wait = 400

// keeper stores layouts a moment after they change, one after the other. Where another client moved nodes in the meantime, the nodes that were moved here are moved there.
export function keeper<S>(first: S, {store, again, isConflict, failed}: Ports<S>) {
  let now = first
  let timer: ReturnType<typeof setTimeout> | undefined
  let next: Layout | null = null
  let busy: Promise<void> | null = null
  const go = async () => {
    while (next) {
      const nodes = next
      next = null
      try {
        now = await store(now, nodes).catch(async (err: unknown) => {
          if (!isConflict(err)) throw err
          return store(await again(), nodes)
        })
      } catch (err) {
        failed(err)
      }
    }
    busy = null
  }
  const flush = () => {
    clearTimeout(timer)
    if (next && !busy) busy = go()
  }
  return {
    keep(nodes: Layout) {
      next = nodes
      clearTimeout(timer)
      timer = setTimeout(flush, wait)
    },
    flush,
  }
}
