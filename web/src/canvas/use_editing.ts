import {useCallback, useMemo, useState} from 'react'
import type {DocumentModel} from '../edit/model.ts'
import {useLayout, useText} from '../edit/use_model.ts'
import {type Canvas, type Format, type Point, readCanvas, type Unread} from './document.ts'
import {type Graph, graphOf, graphsOf, shapeOf} from './graphs.ts'
import {placesIn} from './layout_keys.ts'
import {isRefused, type Layout, type Outcome} from './operations.ts'
import {keyOf, placesOf} from './places.ts'
import type {Refusal} from './rules.ts'
import {makeStep} from './steps.ts'

// Refused is an edit that was not made, and the change that would make it possible.
export type Refused = Refusal & {anyway?: () => void}

export type Editing = {
  model: DocumentModel
  c: Canvas
  graphs: readonly Graph[]
  graph: Graph // the graph that is drawn
  readOnly: boolean
  places: ReadonlyMap<string, Point>
  full: Layout // the positions of all nodes, which are stored when one of them is moved
  nodes: ReadonlySet<string> // keys of the selected nodes
  edges: ReadonlySet<string> // keys of the selected edges
  current: string | null // the node that was selected last
  refused: Refused | null
  select: (nodes: Iterable<string>, edges?: Iterable<string>) => void
  // place moves nodes of the drawn graph.
  place: (moved: Layout, label: string, group?: string) => void
  // act makes a step, and reports whether it was made; anyway is offered if it was refused.
  act: (o: Outcome, more?: {group?: string; anyway?: () => void}) => boolean
  refuse: (r: Refused | null) => void
}

const none: ReadonlySet<string> = new Set()

// useEditing holds the state that the parts of the canvas editor share: the document as drawn, the
// selection, and the functions that change it. base has the stored positions; shown is the key of
// the drawn graph.
export function useEditing(
  model: DocumentModel,
  readOnly: boolean,
  base: Layout,
  format: Format,
  shown: string,
): Editing | Unread {
  const text = useText(model)
  const own = useLayout(model)
  const graphs = useMemo(() => graphsOf(text, format), [text, format])
  const graph = graphOf(graphs, shown)
  const {key, index} = graph
  const layout = useMemo(() => placesIn(own ?? base, key), [base, own, key])
  const [nodes, setNodes] = useState(none)
  const [edges, setEdges] = useState(none)
  const [refused, refuse] = useState<Refused | null>(null)
  const c = useMemo(() => readCanvas(text, shapeOf(format, {index})), [text, format, index])
  const places = useMemo(() => ('why' in c ? new Map<string, Point>() : placesOf(c, layout)), [c, layout])
  const full = useMemo<Layout>(() => Object.fromEntries(places), [places])
  const select = useCallback((ns: Iterable<string>, es: Iterable<string> = []) => {
    setNodes(new Set(ns))
    setEdges(new Set(es))
  }, [])
  const act = useCallback<Editing['act']>(
    (o, more = {}) => {
      if (readOnly) return false
      if (isRefused(o)) {
        refuse({...o.refused, ...(o.refused.fix && more.anyway ? {anyway: more.anyway} : {})})
        return false
      }
      refuse(null)
      makeStep(model, base, key, o, more.group)
      if (o.select) select(o.select)
      return true
    },
    [model, base, readOnly, select, key],
  )
  const place = useCallback<Editing['place']>(
    (moved, label, group) => makeStep(model, base, key, {label, changes: [], layout: moved}, group),
    [model, base, key],
  )
  const kept = useMemo(() => {
    if ('why' in c) return {nodes: none, edges: none}
    const keys = new Set(c.nodes.map(n => keyOf(c, n)))
    const links = new Set(c.edges.map(e => e.key))
    return {nodes: new Set([...nodes].filter(k => keys.has(k))), edges: new Set([...edges].filter(k => links.has(k)))}
  }, [c, nodes, edges])
  if ('why' in c) return c
  return {
    model,
    c,
    graphs,
    graph,
    readOnly,
    places,
    full,
    ...kept,
    current: [...kept.nodes].at(-1) ?? null,
    refused,
    select,
    place,
    act,
    refuse,
  }
}

// nodeOf returns the node with a key.
export const nodeOf = (c: Canvas, key: string | null) =>
  key === null ? undefined : key.startsWith('#') && !c.byID.has(key) ? c.nodes[Number(key.slice(1))] : c.byID.get(key)

export const indicesOf = (c: Canvas, keys: Iterable<string>): number[] =>
  [...keys].flatMap(k => nodeOf(c, k)?.index ?? [])
