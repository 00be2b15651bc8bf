import {own} from '../lib/own.ts'
import type {Layout} from './operations.ts'

// Ports are the functions of the server that a keeper uses.
export type Ports<S> = {
  store: (was: S, nodes: Layout) => Promise<S>
  // nodes returns the positions in a stored layout.
  nodes: (stored: S) => Layout
  again: () => Promise<S>
  isConflict: (err: unknown) => boolean
  failed: (err: unknown) => void
}

const wait = 400

const same = (a: Layout, b: Layout, key: string): boolean => {
  const [p, q] = [own(a, key), own(b, key)]
  return p?.x === q?.x && p?.y === q?.y
}

// onto returns the positions of others with the changes made here between was and now: nodes that
// were moved, placed, or reset.
export function onto(others: Layout, was: Layout, now: Layout): Layout {
  const out = new Map(Object.entries(others))
  for (const key of new Set([...Object.keys(was), ...Object.keys(now)])) {
    if (same(was, now, key)) continue
    const at = own(now, key)
    if (at) out.set(key, at)
    else out.delete(key)
  }
  return Object.fromEntries(out)
}

// keeper stores layouts a moment after they change, one after the other. Each time it applies only
// the moves since the previous layout to the stored one, so that moves of other clients are kept. A
// layout that could not be stored is stored with the next change.
export function keeper<S>(first: S, {store, nodes: nodesOf, again, isConflict, failed}: Ports<S>) {
  let now = first
  // sent is the layout that was stored last as the page has it, without the moves of other clients.
  let sent = nodesOf(first)
  let timer: ReturnType<typeof setTimeout> | undefined
  let next: Layout | null = null
  let busy: Promise<void> | null = null
  const go = async () => {
    while (next) {
      const nodes = next
      next = null
      try {
        now = await store(now, onto(nodesOf(now), sent, nodes)).catch(async (err: unknown) => {
          if (!isConflict(err)) throw err
          const others = await again()
          return store(others, onto(nodesOf(others), sent, nodes))
        })
        sent = nodes
        failed(null)
      } catch (err) {
        failed(err)
        next ??= nodes
        break
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
