import {readPath} from '../doc/path.ts'
import type {Range} from '../doc/tree.ts'
import type {Canvas} from './document.ts'
import {keyOf} from './places.ts'

// Problem is an error or a warning in a document. at is its position in the text that was checked.
export type Problem = {
  code: string
  severity: 'error' | 'warning' | 'info'
  message: string
  hint: string
  path: string
  node?: string
  branch?: string // the branch of the node; '' is the main graph
  at: Range | null
}

// branchOf returns the index of the branch that a problem is in, or null if it is in the main graph
// or in none.
export function branchOf(p: Problem): number | null {
  const path = readPath(p.path) ?? []
  return path[0] === 'branches' && typeof path[1] === 'number' ? path[1] : null
}

// troublesOf returns the problems of the drawn graph by node. A problem of an edge belongs to the
// node that the edge leaves; the other problems have the key "". branch is the id of the graph.
export function troublesOf(c: Canvas, problems: readonly Problem[], branch = ''): Map<string, Problem[]> {
  const out = new Map<string, Problem[]>()
  const index = typeof c.shape.graph[1] === 'number' ? c.shape.graph[1] : null
  for (const p of problems) {
    if (branchOf(p) !== index && p.path !== '') continue
    const key = keyOfProblem(c, p, branch)
    out.set(key, [...(out.get(key) ?? []), p])
  }
  return out
}

function keyOfProblem(c: Canvas, p: Problem, branch: string): string {
  const path = readPath(p.path) ?? []
  const begins = (at: readonly unknown[]) => at.every((k, i) => path[i] === k)
  const index = (at: readonly unknown[]) =>
    begins(at) && typeof path[at.length] === 'number' ? Number(path[at.length]) : -1
  const node = c.nodes[index(c.shape.nodes)]
  if (node) return keyOf(c, node)
  const edge = c.edges[index(c.shape.edges)]
  if (edge) return c.byID.has(edge.from) ? edge.from : edge.to
  return p.node && (p.branch ?? '') === branch && c.byID.has(p.node) ? p.node : ''
}
