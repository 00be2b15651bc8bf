import type {Check} from '../edit/check.ts'
import type {DrawnEdge, DrawnNode} from '../edit/drawing.ts'

export type NodeChange = {id: string; title: string; word: string; how: 'added' | 'removed' | 'changed'}
export type EdgeChange = {from: string; to: string; label: string; how: 'added' | 'removed'}
export type GraphDiff = {nodes: NodeChange[]; edges: EdgeChange[]}

type Side = Pick<Check, 'text' | 'drawing'>

const shown = (s: Side): DrawnNode[] => (s.drawing?.nodes ?? []).filter(n => !n.hidden && n.kind !== 'frame')

const textOf = (s: Side, n: DrawnNode): string => (n.span ? s.text.slice(n.span.start.offset, n.span.end.offset) : '')

// same reports whether a node has the same text, apart from the white space around its lines, and
// is drawn alike.
const same = (a: Side, m: DrawnNode, b: Side, n: DrawnNode): boolean =>
  m.kind === n.kind && m.title === n.title && m.detail === n.detail && plain(textOf(a, m)) === plain(textOf(b, n))

const plain = (text: string): string =>
  text
    .split('\n')
    .map(l => l.trim())
    .filter(Boolean)
    .join('\n')

const keyOf = (e: DrawnEdge): string => JSON.stringify([e.from, e.to, e.kind, e.port, e.label])

// graphDiff returns the nodes and edges that differ between two versions of a workflow.
export function graphDiff(a: Side, b: Side): GraphDiff {
  const before = new Map(shown(a).map(n => [n.id, n]))
  const after = new Map(shown(b).map(n => [n.id, n]))
  const change = (n: DrawnNode, how: NodeChange['how']): NodeChange => ({id: n.id, title: n.title, word: n.word, how})
  const nodes: NodeChange[] = []
  for (const [id, n] of before) {
    const now = after.get(id)
    if (!now) nodes.push(change(n, 'removed'))
    else if (!same(a, n, b, now)) nodes.push(change(now, 'changed'))
  }
  for (const [id, n] of after) if (!before.has(id)) nodes.push(change(n, 'added'))
  const [was, is] = [a, b].map(s => new Map((s.drawing?.edges ?? []).map(e => [keyOf(e), e]))) as [
    Map<string, DrawnEdge>,
    Map<string, DrawnEdge>,
  ]
  const titles = new Map([...shown(a), ...shown(b)].map(n => [n.id, n.title]))
  const edge = (e: DrawnEdge, how: EdgeChange['how']): EdgeChange => ({
    from: titles.get(e.from) ?? '',
    to: titles.get(e.to) ?? '',
    label: e.label,
    how,
  })
  const edges = [
    ...[...was].filter(([k]) => !is.has(k)).map(([, e]) => edge(e, 'removed')),
    ...[...is].filter(([k]) => !was.has(k)).map(([, e]) => edge(e, 'added')),
  ]
  return {nodes, edges: edges.filter(e => e.from && e.to)}
}
