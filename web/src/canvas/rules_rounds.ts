import {type Canvas, type CanvasEdge, handlesOf} from './document.ts'
import type {Link, Refusal} from './rules.ts'

// roundsRules gives what tells why a way out of a node of a rounds document may not lead to another node; null: it may. without is the index of an edge that the new one replaces. What does not
// depend on the other node is worked out once.
export function roundsRules(c: Canvas, id: string, handle: string, without: number): (to: string) => Refusal | null {
  const from = c.byID.get(id)
  if (!from) return () => ({rule: 'S1-5', reason: `Edge source "${id}" not found: the edge is never followed.`})
  const handles = handlesOf(from)
  const edges = c.edges.filter(e => e.index !== without)
  const first = firstOf(c, edges, id, handle)
  let cycleTo: ((to: string) => string[] | null) | undefined
  return to => {
    if (!c.byID.has(to)) return {rule: 'S1-5', reason: `Edge target "${to}" not found: the edge is never followed.`}
    if (!handles.includes(handle))
      return {
        rule: 'X-131',
        reason: `An edge from "${from.id}" by the handle "${handle}" is never followed; the handles are ${handles.join(', ')}.`,
      }
    if (first) {
      const by = handles.length > 1 ? ` by the handle ${handle}` : ''
      if (first.to === to) return {rule: 'S1-4', reason: `"${id}" leads to "${to}"${by} already.`}
      return {
        rule: 'S1-4',
        reason: `Only the first edge that leaves "${id}"${by} is followed, and it leads to "${first.to}".`,
        fix: 'instead',
      }
    }
    if (c.maxRounds > 0) return null
    cycleTo ??= cyclesFrom(c, edges, id)
    const cycle = cycleTo(to)
    return (
      cycle && {
        rule: 'S1-12',
        reason: `The cycle ${shortened(cycle).join(' -> ')} never ends: maxRounds must be a positive number.`,
        fix: 'rounds',
      }
    )
  }
}

// roundsRefusal tells why a link may not be drawn in a graph of a rounds document; null: it may. without is the index of an edge that the link replaces.
export const roundsRefusal = (c: Canvas, link: Link, without: number): Refusal | null =>
  roundsRules(c, link.from, link.handle, without)(link.to)

// firstOf gives the edge that is followed where a node goes on by a handle.
export const firstOf = (
  c: Canvas,
  edges: readonly CanvasEdge[],
  from: string,
  handle: string,
): CanvasEdge | undefined => edges.find(e => e.from === from && e.port === handle && c.byID.has(e.to))

// cyclesFrom gives what tells the first cycle that a run could come to, from its first node and back to it, if a node led to another one by one more way; null: there is none, or there is one without
// that way.
function cyclesFrom(c: Canvas, edges: readonly CanvasEdge[], from: string): (to: string) => string[] | null {
  const next = new Map<string, Map<string, string>>()
  for (const e of edges) {
    if (!c.byID.has(e.from) || !c.byID.has(e.to)) continue
    const ways = next.get(e.from) ?? new Map<string, string>()
    if (!ways.has(e.port)) ways.set(e.port, e.to)
    next.set(e.from, ways)
  }
  const start = c.nodes[0]?.id
  if (start === undefined || new Walk(next).cycle(start)) return () => null
  const walk = new Walk(next)
  return walk.stopsAt(start, from) ? to => walk.cycle(to) : () => null
}

// Walk goes the ways of a graph, of each node in order, until one leads back to the path on which it is.
class Walk {
  readonly #next: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly #path: string[] = []
  readonly #at = new Map<string, number>() // the places of the nodes in the path
  readonly #done = new Set<string>() // nodes that lead to no cycle

  constructor(next: ReadonlyMap<string, ReadonlyMap<string, string>>) {
    this.#next = next
  }

  // cycle goes on to a node, and gives the first cycle; null: there is none. The path is then as it was.
  cycle(id: string): string[] | null {
    const length = this.#path.length
    const found = this.#go(id)
    while (this.#path.length > length) this.#at.delete(this.#path.pop()!)
    return found
  }

  // stopsAt goes from a node through a graph without cycles, and stops at another one when all ways of that are gone. It tells whether it came there.
  stopsAt(id: string, last: string): boolean {
    this.#go(id, last)
    return this.#path.at(-1) === last
  }

  #go(id: string, last?: string): string[] | null {
    const open: Iterator<string>[] = []
    let to: string | undefined = id
    for (;;) {
      const at: number | undefined = to === undefined ? undefined : this.#at.get(to)
      if (at !== undefined) return [...this.#path.slice(at), to!]
      if (to !== undefined && !this.#done.has(to)) {
        this.#at.set(to, this.#path.length)
        this.#path.push(to)
        open.push((this.#next.get(to) ?? none).values())
      } else if (to === undefined) {
        if (this.#path.at(-1) === last) return null
        const left = this.#path.pop()!
        this.#at.delete(left)
        this.#done.add(left)
        open.pop()
      }
      const ways = open.at(-1)
      if (!ways) return null
      const way = ways.next()
      to = way.done ? undefined : way.value
    }
  }
}

const none: ReadonlyMap<string, string> = new Map()

const most = 12

const shortened = (ids: string[]): string[] => (ids.length > most ? [...ids.slice(0, most - 2), '…', ids.at(-1)!] : ids)
