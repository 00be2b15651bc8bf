import {describe, expect, it} from 'vitest'
import {type Drawn, drawnOf, type Graph, plainOf, statesOf, takenOf, timesOf} from './drawn.ts'
import {project} from './project.ts'
import type {Definition, RunEvent} from './types.ts'

const def: Definition = {
  entry: 'a',
  nodes: [
    {id: 'a', kind: 'agent'},
    {id: 's', kind: 'subflow', subflow: {flow: 'inner'}},
  ],
  edges: [{from: 'a', to: 's'}],
  flows: {inner: {entry: 'x', nodes: [{id: 'x', kind: 'agent'}], edges: []}},
}
const e = (seq: number, type: string, node: string, step: number, data: object = {}): RunEvent => ({
  run: 'r',
  seq,
  time: `2026-01-01T00:00:0${seq}Z`,
  type,
  node: node || null,
  step: step || null,
  data: data as Record<string, unknown>,
})
const events = [
  e(1, 'run.created', '', 0),
  e(2, 'run.started', '', 0),
  e(3, 'step.started', 'a', 1, {kind: 'agent'}),
  e(4, 'step.completed', 'a', 1, {output: 1}),
  e(5, 'edge.taken', 'a', 1, {edge: 0, to: 's'}),
  e(6, 'step.started', 's', 2, {kind: 'subflow'}),
  e(7, 'edge.taken', 's', 2, {edge: -1, to: 'x', scope: 1}),
  e(8, 'step.started', 's/x', 3, {kind: 'agent', scope: 1}),
]
const node = (id: string, more: object = {}) => ({
  id,
  node: id,
  kind: 'agent',
  word: 'agent',
  title: id,
  detail: '',
  agent: '',
  flow: '',
  parent: null,
  hidden: false,
  x: 10,
  y: 10,
  width: 100,
  height: 50,
  span: null,
  ...more,
})
const edge = (id: string, from: string, to: string, more: object = {}) => ({
  id,
  from,
  to,
  kind: 'run',
  edge: null,
  port: '',
  label: '',
  back: false,
  fails: false,
  points: [],
  labelX: 0,
  labelY: 0,
  span: null,
  ...more,
})
const graph = {
  width: 200,
  height: 100,
  nodes: [
    node('a'),
    node('s', {kind: 'subflow'}),
    node('inner:x', {node: 'x', flow: 'inner'}),
    node('k', {kind: 'subagent', agent: 'k', node: ''}),
  ],
  edges: [edge('e', 'a', 's', {edge: 0}), edge('f', 's', 'inner:x'), edge('g', 'a', 'k', {kind: 'subagent'})],
} as unknown as Graph

describe('the drawing of the server', () => {
  const drawn = drawnOf(graph)
  const view = project('r', def, events)
  const sub = {
    step: 1,
    frame: 1,
    parent: 0,
    depth: 1,
    agent: 'k',
    input: '',
    output: null,
    error: null,
    status: 'completed' as const,
  }
  const states = statesOf(drawn, def, view, [sub])
  it('has the states of nodes, of those in flows, and of sub-agents', () => {
    expect([...states].map(([id, s]) => `${id} ${s.status} ${s.runs} ${s.last?.seq}`)).toEqual([
      'a succeeded 1 1',
      's running 1 2',
      'inner:x running 1 3',
      'k succeeded 1 1',
    ])
  })
  it('counts what was taken', () => {
    const times = (d: Drawn) =>
      d.edges.map(x => timesOf(x, new Map(d.nodes.map(n => [n.id, n])), states, takenOf(def, view)))
    expect(times(drawn)).toEqual([1, 1, 1])
    expect(
      timesOf({...drawn.edges[0]!, edges: [[7]]}, new Map(drawn.nodes.map(n => [n.id, n])), states, takenOf(def, view)),
    ).toBe(0)
  })
  it('counts in flows what was taken there, for all steps that run them', () => {
    const flow: Definition = {
      entry: 's',
      nodes: ['s', 't'].map(id => ({id, kind: 'subflow', subflow: {flow: 'inner'}})),
      edges: [{from: 's', to: 't'}],
      flows: {
        inner: {
          entry: 'x',
          nodes: ['x', 'y', 'z'].map(id => ({id, kind: 'agent'})),
          edges: [
            {from: 'x', to: 'y'},
            {from: 'x', to: 'z'},
            {from: 'y', to: 'z'},
          ],
        },
      },
    }
    // In s the path leads through y, in t it bypasses y: x and z ran in both, and the short path
    // was taken once.
    let seq = 2
    const run = (step: number, at: string, way: [string, number, string][]) => [
      e(++seq, 'step.started', at, step, {kind: 'subflow'}),
      e(++seq, 'edge.taken', at, step, {edge: -1, to: 'x', scope: step}),
      ...way.flatMap(([id, index, to], i) => [
        e(++seq, 'step.started', `${at}/${id}`, step + 1 + i, {kind: 'agent', scope: step}),
        e(++seq, 'edge.taken', `${at}/${id}`, step + 1 + i, {edge: index, to, scope: step}),
      ]),
    ]
    const past = [
      ...run(1, 's', [
        ['x', 0, 'y'],
        ['y', 2, 'z'],
        ['z', -1, ''],
      ]),
      ...run(11, 't', [
        ['x', 1, 'z'],
        ['z', -1, ''],
      ]),
    ]
    const seen = project('r', flow, [e(1, 'run.created', '', 0), e(2, 'run.started', '', 0), ...past])
    const ids = ['x', 'y', 'z'].map(id => node(`inner:${id}`, {node: id, flow: 'inner'}))
    const lines = [
      ['x', 'y'],
      ['x', 'z'],
      ['y', 'z'],
    ].map(([from, to], i) => edge(`${i}`, `inner:${from}`, `inner:${to}`, {edge: i}))
    const inner = drawnOf({...graph, nodes: ids, edges: lines} as unknown as Graph)
    const at = statesOf(inner, flow, seen, [])
    expect(inner.edges.map(x => timesOf(x, new Map(inner.nodes.map(n => [n.id, n])), at, takenOf(flow, seen)))).toEqual(
      [1, 1, 1],
    )
    const half = project('r', flow, [e(1, 'run.created', '', 0), e(2, 'run.started', '', 0), ...past.slice(0, 7)])
    expect(inner.edges.map(x => timesOf(x, new Map(inner.nodes.map(n => [n.id, n])), at, takenOf(flow, half)))).toEqual(
      [1, 0, 1],
    )
  })
})

it('a plain layout is there without it', () => {
  const plain = plainOf(def)
  expect(plain.nodes.map(n => [n.id, n.word])).toEqual([
    ['a', 'agent'],
    ['s', 'subgraph'],
  ])
  expect(plain.edges.map(x => [x.from, x.to, x.edges, x.path])).toEqual([['a', 's', [[0]], '']])
})
