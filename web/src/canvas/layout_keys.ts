import type {Schemas} from '../api/client.ts'
import type {Point} from './document.ts'
import type {Layout} from './operations.ts'

// The layout of a document has the positions of the nodes of all its graphs, so that undo covers
// them alike. The key of a node of the main graph is its id; the key of a node of a branch includes
// the branch.

const mark = '\u0000'

const prefixOf = (graph: string): string => (graph === '' ? '' : `${mark}${graph}${mark}`)

const isIn = (graph: string, key: string): boolean =>
  graph === '' ? !key.startsWith(mark) : key.startsWith(prefixOf(graph))

// placesIn returns the positions of the nodes of one graph, by node id.
export function placesIn(all: Layout, graph: string): Layout {
  const from = prefixOf(graph).length
  return Object.fromEntries(Object.entries(all).flatMap(([k, p]) => (isIn(graph, k) ? [[k.slice(from), p]] : [])))
}

// withPlaces returns a layout in which the nodes of one graph have other positions.
export function withPlaces(all: Layout, graph: string, places: Layout): Layout {
  const others = Object.entries(all).filter(([k]) => !isIn(graph, k))
  return Object.fromEntries([...others, ...Object.entries(places).map(([k, p]) => [prefixOf(graph) + k, p] as const)])
}

// movedPlaces returns a layout in which the positions of a graph belong to another key, or are
// removed if it is null.
export function movedPlaces(all: Layout, from: string, to: string | null): Layout {
  const places = placesIn(all, from)
  const rest = withPlaces(all, from, {})
  return to === null ? rest : withPlaces(rest, to, places)
}

type Stored = Schemas['Layout']

// flatOf converts a stored layout to a flat one.
export function flatOf(stored: Stored): Layout {
  let out: Layout = stored.nodes
  for (const [graph, places] of Object.entries(stored.branches ?? {})) out = withPlaces(out, graph, places)
  return out
}

// storedOf converts a layout to its stored form.
export function storedOf(all: Layout): Stored {
  const branches = new Map<string, [string, Point][]>()
  for (const [key, p] of Object.entries(all)) {
    if (!key.startsWith(mark)) continue
    const [, graph = '', ...node] = key.split(mark)
    branches.set(graph, [...(branches.get(graph) ?? []), [node.join(mark), p]])
  }
  const nodes = placesIn(all, '')
  return branches.size === 0
    ? {nodes}
    : {nodes, branches: Object.fromEntries([...branches].map(([graph, list]) => [graph, Object.fromEntries(list)]))}
}
