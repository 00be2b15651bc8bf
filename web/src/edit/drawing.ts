import type {Check, Drawing} from './check.ts'

export type DrawnNode = NonNullable<Drawing['nodes']>[number]
export type DrawnEdge = NonNullable<Drawing['edges']>[number]

// pathOf gives the route of an edge as SVG writes it. Between two points a curve begins and ends upright; the four points of an edge from a node to itself are one curve.
export function pathOf(e: Pick<DrawnEdge, 'from' | 'to' | 'points'>): string {
  const [first, ...rest] = e.points ?? []
  if (!first) return ''
  const at = (p: {x: number; y: number}) => `${p.x} ${p.y}`
  if (e.from === e.to && rest.length === 3) return `M ${at(first)} C ${rest.map(at).join(', ')}`
  let before = first
  const parts = rest.map(p => {
    const middle = (before.y + p.y) / 2
    const part = `C ${before.x} ${middle}, ${p.x} ${middle}, ${at(p)}`
    before = p
    return part
  })
  return [`M ${at(first)}`, ...parts].join(' ')
}

// nodeAt gives the innermost node whose text has an offset; null: none has.
export function nodeAt(nodes: readonly DrawnNode[], offset: number): DrawnNode | null {
  let best: DrawnNode | null = null
  let size = Number.POSITIVE_INFINITY
  for (const n of nodes) {
    if (!n.span || offset < n.span.start.offset || offset > n.span.end.offset) continue
    const length = n.span.end.offset - n.span.start.offset
    // Of nodes with the same text the last one is shown: frames stand before what is in them.
    if (length <= size) {
      best = n
      size = length
    }
  }
  return best
}

// worstOf gives the worst problem of each node, by its id in events.
export function worstOf(check: Check): Map<string, 'error' | 'warning'> {
  const out = new Map<string, 'error' | 'warning'>()
  for (const p of check.problems) {
    if (!p.node || p.branch !== check.branch || p.severity === 'info') continue
    if (p.severity === 'error' || !out.has(p.node)) out.set(p.node, p.severity)
  }
  return out
}
