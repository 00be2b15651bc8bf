import {readPath} from '../doc/path.ts'
import type {Range} from '../doc/tree.ts'
import type {Canvas} from './document.ts'
import {keyOf} from './places.ts'

// Problem is what is wrong with a document. at is its place in the text that was checked.
export type Problem = {
  code: string
  severity: 'error' | 'warning' | 'info'
  message: string
  hint: string
  path: string
  node?: string
  at: Range | null
}

// troublesOf gives the problems by the node that they are at. Those of an edge are at the node that it leaves; the others have the key "".
export function troublesOf(c: Canvas, problems: readonly Problem[]): Map<string, Problem[]> {
  const out = new Map<string, Problem[]>()
  for (const p of problems) {
    const key = keyOfProblem(c, p)
    out.set(key, [...(out.get(key) ?? []), p])
  }
  return out
}

function keyOfProblem(c: Canvas, p: Problem): string {
  const path = readPath(p.path) ?? []
  const begins = (at: readonly unknown[]) => at.every((k, i) => path[i] === k)
  const index = (at: readonly unknown[]) => (begins(at) && typeof path[at.length] === 'number' ? Number(path[at.length]) : -1)
  const node = c.nodes[index(c.shape.nodes)]
  if (node) return keyOf(c, node)
  const edge = c.edges[index(c.shape.edges)]
  if (edge) return c.byID.has(edge.from) ? edge.from : edge.to
  return p.node && c.byID.has(p.node) ? p.node : ''
}
