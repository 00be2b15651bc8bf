import {describe, expect, it} from 'vitest'
import {kept} from '../lib/kept.ts'
import {boxesOf, routesOf, sameBox, sameRoute} from './boxes.ts'
import {type Drawn, plainOf, statesOf, takenOf} from './drawn.ts'
import {Fold} from './project.ts'
import type {Definition, RunEvent} from './types.ts'

const n = 500
const ids = Array.from({length: n}, (_, i) => `n${i}`)
const def: Definition = {
  entry: 'n0',
  nodes: ids.map(id => ({id, kind: 'agent'})),
  edges: ids.slice(1).map((to, i) => ({from: ids[i]!, to})),
}
const e = (seq: number, type: string, node: string, step: number, data: object = {}): RunEvent => ({
  run: 'r',
  seq,
  time: new Date(seq * 1000).toISOString(),
  type,
  node: node || null,
  step: step || null,
  data: data as Record<string, unknown>,
})

// drawer draws a run after each of its events, as the page does, and reports which boxes and edges
// are drawn again.
function drawer(drawn: Drawn) {
  const fold = new Fold('r', def)
  let [nodes, edges]: [readonly ReturnType<typeof boxesOf>[number][], readonly ReturnType<typeof routesOf>[number][]] =
    [[], []]
  return (...events: RunEvent[]) => {
    for (const x of events) fold.add(x)
    const view = fold.view()
    const states = statesOf(drawn, def, view, [])
    const shown = {facts: () => '', heat: () => null, chosen: () => false}
    const [nowNodes, nowEdges] = [
      kept(nodes, boxesOf(drawn, states, shown), sameBox),
      kept(edges, routesOf(drawn, states, takenOf(def, view)), sameRoute),
    ]
    const changed = {
      list: nowNodes !== nodes,
      nodes: nowNodes.filter(x => !nodes.includes(x)).map(x => x.id),
      edges: nowEdges.filter(x => !edges.includes(x)).length,
    }
    nodes = nowNodes
    edges = nowEdges
    return changed
  }
}

describe('a graph of 500 nodes that goes on', () => {
  it('draws what an event changes, and nothing else', () => {
    const next = drawer(plainOf(def))
    expect(next(e(1, 'run.created', '', 0), e(2, 'run.started', '', 0))).toMatchObject({list: true, edges: n - 1})
    expect(next(e(3, 'step.started', 'n0', 1, {kind: 'agent'}))).toEqual({list: true, nodes: ['n0'], edges: 0})
    expect(next(e(4, 'model.called', 'n0', 1, {call: 'c1'}))).toEqual({list: false, nodes: [], edges: 0})
    expect(
      next(e(5, 'step.completed', 'n0', 1, {output: 1}), e(6, 'edge.taken', 'n0', 1, {edge: 0, to: 'n1'})),
    ).toEqual({
      list: true,
      nodes: ['n0'],
      edges: 1,
    })
    expect(next(e(7, 'step.started', 'n1', 2, {kind: 'agent'}))).toEqual({list: true, nodes: ['n1'], edges: 0})
  })
  it('gives each box its size and the ends of its edges, so that nothing is measured', () => {
    const drawn = plainOf(def)
    for (const b of boxesOf(drawn, new Map(), {facts: () => '', heat: () => null, chosen: () => false})) {
      expect(b.measured).toEqual({width: b.width, height: b.height})
      expect(Number.isInteger(b.width) && Number.isInteger(b.height)).toBe(true)
      expect(b.handles!.map(h => [h.type, h.x, h.y])).toEqual([
        ['target', b.width! / 2, 0],
        ['source', b.width! / 2, b.height],
      ])
    }
  })
})
