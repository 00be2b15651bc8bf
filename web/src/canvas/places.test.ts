import {readFileSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import {type Canvas, readCanvas} from './document.ts'
import {arranged, neighbour, outline, placesOf, siblingsOf, sizeOf, wayOf} from './places.ts'
import {nodeFields, sorted} from './schema.ts'

const canvas = (doc: unknown): Canvas => {
  const c = readCanvas(JSON.stringify(doc))
  if ('why' in c) throw new Error(c.why)
  return c
}
const letter = canvas({
  nodes: [
    {id: 's', type: 'start'},
    {id: 'w', type: 'agent', data: {tools: {subagents: true}}},
    {id: 'r', type: 'agent'},
    {id: 'q', type: 'if', data: {conditions: [{}, {}, {}]}},
    {id: 'a', type: 'agent'},
    {id: 'b', type: 'agent'},
    {id: 'b', type: 'agent'},
  ],
  connections: [
    {source: 's', target: 'w'},
    {source: 'w', target: 'r', sourceHandle: 'subagent'},
    {source: 'w', target: 'q'},
    {source: 'q', target: 'a', sourceHandle: 'condition-0'},
    {source: 'q', target: 'b', sourceHandle: 'false'},
    {source: 'a', target: 'w'},
  ],
})

describe('places', () => {
  it('do not overlap', () => {
    const boxes = [...arranged(letter)].map(([key, p]) => ({
      key,
      ...p,
      ...sizeOf(letter.nodes.find(n => n.id === key || `#${n.index}` === key)!),
    }))
    expect(boxes).toHaveLength(7)
    for (const a of boxes)
      for (const b of boxes)
        if (a !== b)
          expect(
            a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y,
            `${a.key} and ${b.key}`,
          ).toBe(true)
  })
  it('of sub-agents are beside who asks them, also in a ring', () => {
    const at = arranged(letter)
    expect(at.get('r')!.x).toBeGreaterThan(at.get('w')!.x)
    const agent = (id: string) => ({id, type: 'agent', data: {tools: ['subagents']}})
    const ring = canvas({
      nodes: [agent('a'), agent('b')],
      connections: [
        {source: 'a', target: 'b', sourceHandle: 'subagent'},
        {source: 'b', target: 'a', sourceHandle: 'subagent'},
      ],
    })
    expect(arranged(ring).size).toBe(2)
  })
  it('are those of the layout, then those of the document, then free ones below', () => {
    const c = canvas({
      nodes: [
        {id: 'a', type: 'start', x: 1, y: 2},
        {id: 'b', type: 'set', position: {x: 3, y: 4}},
        {id: 'c', type: 'set'},
      ],
      connections: [],
    })
    const got = placesOf(c, {a: {x: 50, y: 60}})
    expect([got.get('a'), got.get('b')]).toEqual([
      {x: 50, y: 60},
      {x: 3, y: 4},
    ])
    expect(got.get('c')!.y).toBeGreaterThan(60)
  })
  it('of other editors are drawn apart where the nodes would overlap, in the way that they lead', () => {
    const at = (id: string, x: number) => ({id, type: 'agent', x, y: 0})
    const c = canvas({nodes: [at('a', 0), at('b', 200)], connections: [{source: 'a', target: 'b'}]})
    const got = placesOf(c, {})
    expect(got.get('b')).toEqual({x: 250, y: 0})
    expect([wayOf(c, got), wayOf(letter, arranged(letter))]).toEqual(['right', 'down'])
    expect(placesOf(c, {a: {x: 0, y: 0}, b: {x: 200, y: 0}}).get('b')).toEqual({x: 200, y: 0})
  })
  it('lead arrows along edges', () => {
    const at = arranged(letter)
    expect(neighbour(letter, at, 's', 'down')).toBe('w')
    expect(neighbour(letter, at, 'w', 'right')).toBe('r')
    expect(neighbour(letter, at, 'w', 'down')).toBe('q')
    expect(neighbour(letter, at, 'a', 'up')).toBe('q')
    expect(neighbour(letter, at, 's', 'up')).toBeNull()
  })
})

it('an outline has each node once', () => {
  expect(outline(letter).map(r => `${' '.repeat(r.level - 1)}${r.key} ${r.under}`)).toEqual([
    's ',
    'w output',
    ' r subagent',
    'q output',
    ' a condition-0',
    ' b false',
    '#6 ',
  ])
})

describe('fields of the published schema', () => {
  const schema: unknown = JSON.parse(readFileSync('../docs/schema/canvas.json', 'utf8'))
  it('are there for each kind', () => {
    for (const kind of ['start', 'agent', 'if', 'approval', 'tool', 'workflow', 'set', 'ask'])
      expect(nodeFields(schema, kind).length, kind).toBeGreaterThan(0)
  })
  it('have the kinds of their values', () => {
    const kinds = Object.fromEntries(nodeFields(schema, 'agent').map(f => [f.key, f.kind]))
    expect(kinds).toMatchObject({
      systemPrompt: 'long',
      model: 'text',
      addDate: 'yes',
      maxIterations: 'number',
      context: 'choice',
      handoffs: 'words',
      params: 'group',
      tools: 'either',
      join: 'any',
    })
    expect(nodeFields(schema, 'set').find(f => f.key === 'values')).toMatchObject({kind: 'map', required: true})
    expect(nodeFields(schema, 'approval').find(f => f.key === 'on_reject')?.choices).toEqual(['fail', 'end'])
  })
  it('begin with what is asked for most, and what is set', () => {
    const {shown} = sorted('agent', nodeFields(schema, 'agent'), {maxIterations: 3})
    expect(shown.map(f => f.key)).toEqual([
      'agentName',
      'model',
      'systemPrompt',
      'userPrompt',
      'tools',
      'reasoningEffort',
      'maxIterations',
    ])
  })
})

it('counts rows among those of their level below the same row', () => {
  const of = (...levels: number[]) => siblingsOf(levels.map(level => ({level}))).map(s => `${s.at}/${s.of}`)
  expect(of()).toEqual([])
  expect(of(1, 1, 1)).toEqual(['1/3', '2/3', '3/3'])
  expect(of(1, 2, 2, 3, 2, 1, 2)).toEqual(['1/2', '1/3', '2/3', '1/1', '3/3', '2/2', '1/1'])
  expect(of(1, 3, 2, 3)).toEqual(['1/1', '1/1', '1/1', '1/1'])
})
