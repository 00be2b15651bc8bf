import {own} from '../lib/own.ts'
import type {Layout} from './operations.ts'

// Ports are what a keeper asks of the server.
export type Ports<S> = {
  store: (was: S, nodes: Layout) => Promise<S>
  // nodes gives the places that a stored layout has.
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

// onto gives the places of others with what was changed here, from was to now: moved, placed, or taken back.
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

// keeper stores layouts a moment after they change, one after the other: of each only what is moved since the one before, onto what is stored, so that what other clients moved stays.
// What could not be stored is stored with the next change.
export function keeper<S>(first: S, {store, nodes: nodesOf, again, isConflict, failed}: Ports<S>) {
  let now = first
  // sent is the layout that was stored last as the page has it, without what other clients moved.
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
