import {describe, expect, it} from 'vitest'
import {readCanvas, roundsShape, type Shape} from './document.ts'
import {handlePlaces, straysOf, waysOf} from './handles.ts'
import {sizeOf} from './places.ts'

const nodeOf = (node: object) => {
  const c = readCanvas(JSON.stringify({nodes: [{id: 'n', ...node}], connections: []}))
  if ('why' in c) throw new Error(c.why)
  return c.nodes[0]!
}

// middles returns the center of each handle.
const middles = (node: object, strays: string[], across: boolean) =>
  handlePlaces(nodeOf(node), strays, across).map(h => [
    h.type,
    h.id,
    h.position,
    h.x + h.width! / 2,
    h.y + h.height! / 2,
  ])

describe('the places where edges meet a node', () => {
  it('are above and below it, beside it for sub-agents', () => {
    expect(middles({type: 'agent'}, [], false)).toEqual([
      ['target', 'input', 'top', 104, 0],
      ['target', 'asked', 'left', 0, 31],
      ['source', 'output', 'bottom', 104, 62],
      ['source', 'subagent', 'right', 208, 31],
    ])
  })
  it('are turned where edges lead to the right', () => {
    expect(middles({type: 'agent'}, [], true)).toEqual([
      ['target', 'input', 'left', 0, 31],
      ['target', 'asked', 'top', 104, 0],
      ['source', 'output', 'right', 208, 31],
      ['source', 'subagent', 'bottom', 104, 62],
    ])
  })
  it('are apart for several ways out, with those that the node does not have at the end', () => {
    const node = {type: 'if', data: {conditions: [{}, {}]}}
    const {width, height} = sizeOf(nodeOf(node))
    expect(middles(node, ['old'], false).slice(1)).toEqual(
      ['condition-0', 'condition-1', 'false', 'old'].map((id, i) => [
        'source',
        id,
        'bottom',
        (width * (2 * i + 1)) / 8,
        height,
      ]),
    )
  })
})

describe('the ways out that a node does not have', () => {
  const read = (document: object, shape?: Shape) => {
    const c = readCanvas(JSON.stringify(document), shape)
    if ('why' in c) throw new Error(c.why)
    return c
  }
  it('are none in a rounds graph without cycles and without rounds', () => {
    const nodes = [
      {id: 'first', type: 'agent'},
      {id: 'look', type: 'tool'},
      {id: 'last', type: 'agent'},
    ]
    const edges = [
      {from: 'first', to: 'look'},
      {from: 'look', to: 'last', sourceHandle: 'error'},
    ]
    const c = read({nodes, edges}, roundsShape(null))
    expect([...straysOf(c)]).toEqual([])
    expect(waysOf(c.nodes[0]!, [...(straysOf(c).get('first') ?? [])])).toEqual(['output'])
  })
  it('are those of other kinds of nodes', () => {
    const rounds = read(
      {nodes: [{id: 'a', type: 'tool'}], edges: [{from: 'a', to: 'a', sourceHandle: 'approve'}]},
      roundsShape(null),
    )
    expect([...straysOf(rounds)]).toEqual([['a', new Set(['approve'])]])
    const nodes = ['start', 'agent', 'tool'].map(type => ({id: type, type}))
    const connections = [
      {source: 'start', target: 'agent', sourceHandle: 'whatever'},
      {source: 'agent', target: 'tool', sourceHandle: 'subagent'},
      {source: 'tool', target: 'agent', sourceHandle: 'subagent'},
    ]
    expect([...straysOf(read({nodes, connections}))]).toEqual([['tool', new Set(['subagent'])]])
  })
})

describe('a text', () => {
  it('is read once for all callers', () => {
    const text = JSON.stringify({nodes: [{id: 's', type: 'start'}], connections: []})
    const read = readCanvas(text)
    expect(readCanvas(`${text}`)).toBe(read)
    expect(readCanvas(`${text} `)).not.toBe(read)
  })
})
