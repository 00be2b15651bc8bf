import type {Schemas} from '../api/client.ts'
import type {Point} from './document.ts'
import type {Layout} from './operations.ts'

// The layout of a document has the places of the nodes of all its graphs, so that undo covers them alike. A node of the main graph has its id as its key, one of a branch the branch with it.

const mark = '\u0000'

const prefixOf = (graph: string): string => (graph === '' ? '' : `${mark}${graph}${mark}`)

const isIn = (graph: string, key: string): boolean =>
  graph === '' ? !key.startsWith(mark) : key.startsWith(prefixOf(graph))

// placesIn gives the places of the nodes of one graph, by their ids.
export function placesIn(all: Layout, graph: string): Layout {
  const from = prefixOf(graph).length
  return Object.fromEntries(Object.entries(all).flatMap(([k, p]) => (isIn(graph, k) ? [[k.slice(from), p]] : [])))
}

// withPlaces gives a layout in which the nodes of one graph have other places.
export function withPlaces(all: Layout, graph: string, places: Layout): Layout {
  const others = Object.entries(all).filter(([k]) => !isIn(graph, k))
  return Object.fromEntries([...others, ...Object.entries(places).map(([k, p]) => [prefixOf(graph) + k, p] as const)])
}

// movedPlaces gives a layout in which the places of a graph are those of another name; null: they go.
export function movedPlaces(all: Layout, from: string, to: string | null): Layout {
  const places = placesIn(all, from)
  const rest = withPlaces(all, from, {})
  return to === null ? rest : withPlaces(rest, to, places)
}

type Stored = Schemas['Layout']

// flatOf gives a stored layout as one.
export function flatOf(stored: Stored): Layout {
  let out: Layout = stored.nodes
  for (const [graph, places] of Object.entries(stored.branches ?? {})) out = withPlaces(out, graph, places)
  return out
}

// storedOf gives a layout as it is stored.
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
