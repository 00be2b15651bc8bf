import {type Canvas, type CanvasEdge, handlesOf} from './document.ts'
import type {Link, Refusal} from './rules.ts'

// roundsRules returns a function that returns why an output of a node of a rounds document cannot
// lead to another node, or null if it can. without is the index of an edge that the new one
// replaces. The parts that do not depend on the other node are computed once.
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
        reason:
          `An edge from "${from.id}" by the handle "${handle}" is never followed; ` +
          `the handles are ${handles.join(', ')}.`,
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

// roundsRefusal returns why a link is not allowed in a graph of a rounds document, or null if it
// is. without is the index of an edge that the link replaces.
export const roundsRefusal = (c: Canvas, link: Link, without: number): Refusal | null =>
  roundsRules(c, link.from, link.handle, without)(link.to)

// firstOf returns the edge that is followed when a node continues at a handle.
export const firstOf = (
  c: Canvas,
  edges: readonly CanvasEdge[],
  from: string,
  handle: string,
): CanvasEdge | undefined => edges.find(e => e.from === from && e.port === handle && c.byID.has(e.to))

// beginning returns the node with which a run begins: the first or, if edges lead to it, the only one
// to which none does (S1-2).
export function beginning(c: Canvas): string | undefined {
  const entered = new Set(c.edges.filter(e => c.byID.has(e.from) && e.from !== e.to).map(e => e.to))
  const first = c.nodes[0]?.id
  if (first === undefined || !entered.has(first)) return first
  const [only, ...more] = c.nodes.filter(n => !entered.has(n.id))
  return only && more.length === 0 ? only.id : first
}

// cyclesFrom returns a function that returns the first cycle that a run could reach, from the first
// node of the graph, if a node had one more edge to another node. It returns null if there is no
// such cycle, or if there is a cycle without that edge.
function cyclesFrom(c: Canvas, edges: readonly CanvasEdge[], from: string): (to: string) => string[] | null {
  const next = new Map<string, Map<string, string>>()
  for (const e of edges) {
    if (!c.byID.has(e.from) || !c.byID.has(e.to)) continue
    const ways = next.get(e.from) ?? new Map<string, string>()
    if (!ways.has(e.port)) ways.set(e.port, e.to)
    next.set(e.from, ways)
  }
  const start = beginning(c)
  if (start === undefined || new Walk(next).cycle(start)) return () => null
  const walk = new Walk(next)
  return walk.stopsAt(start, from) ? to => walk.cycle(to) : () => null
}

// Walk follows the edges of a graph, in the order of each node, until an edge leads back to the
// current path.
class Walk {
  readonly #next: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly #path: string[] = []
  readonly #at = new Map<string, number>() // positions of the nodes in the path
  readonly #done = new Set<string>() // nodes that lead to no cycle

  constructor(next: ReadonlyMap<string, ReadonlyMap<string, string>>) {
    this.#next = next
  }

  // cycle continues the path at a node and returns the first cycle, or null if there is none. It
  // restores the path.
  cycle(id: string): string[] | null {
    const length = this.#path.length
    const found = this.#go(id)
    while (this.#path.length > length) this.#at.delete(this.#path.pop()!)
    return found
  }

  // stopsAt walks from a node through a graph without cycles, and stops at another node when all
  // edges of that node have been followed. It reports whether it reached that node.
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
