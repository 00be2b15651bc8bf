import {find, type Node, TextError} from '../doc/tree.ts'
import {canvasShape, type Format, parsed, roundsShape, type Shape} from './document.ts'

// Graph is one of the graphs of a document. key identifies it: '' is the main graph; otherwise it
// is the id of the branch, or its index if the id is missing or already used. index is the index of
// the branch, or null for the main graph.
export type Graph = {key: string; id: string; name: string; index: number | null}

const main: Graph = {key: '', id: '', name: '', index: null}

// graphsOf returns the graphs of a document, the main graph first. A text that cannot be read has
// only the main graph.
export function graphsOf(text: string, format: Format): Graph[] {
  if (format !== 'rounds') return [main]
  let list: Node | null
  try {
    list = find(parsed(text), ['branches'])
  } catch (err) {
    if (err instanceof TextError) return [main]
    throw err
  }
  const out = [main]
  for (const [index, b] of (list?.type === 'array' ? (list.children ?? []) : []).entries()) {
    const word = (key: string) => {
      const at = b.type === 'object' ? b.children?.find(p => p.children?.[0]?.value === key)?.children?.[1] : undefined
      if (!at || at.children || at.type === 'null') return ''
      return at.type === 'number' ? text.slice(at.offset, at.offset + at.length) : String(at.value)
    }
    const id = word('id')
    const key = id === '' || out.some(g => g.key === id) ? `#${index}` : id
    out.push({key, id, name: word('name') || id || `branch ${index + 1}`, index})
  }
  return out
}

// graphOf returns the graph with a key, or the main graph if there is none.
export const graphOf = (graphs: readonly Graph[], key: string): Graph => graphs.find(g => g.key === key) ?? graphs[0]!

// shapeOf returns where a graph keeps its nodes and edges.
export const shapeOf = (format: Format, g: Pick<Graph, 'index'>): Shape =>
  format === 'canvas' ? canvasShape : roundsShape(g.index)
