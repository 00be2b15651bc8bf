import {describe, expect, it} from 'vitest'
import {readCanvas} from './document.ts'
import {handlePlaces} from './handles.ts'
import {sizeOf} from './places.ts'

const nodeOf = (node: object) => {
  const c = readCanvas(JSON.stringify({nodes: [{id: 'n', ...node}], connections: []}))
  if ('why' in c) throw new Error(c.why)
  return c.nodes[0]!
}

// middles gives where the middle of each place is.
const middles = (node: object, strays: string[], across: boolean) =>
  handlePlaces(nodeOf(node), strays, across).map(h => [h.type, h.id, h.position, h.x + h.width! / 2, h.y + h.height! / 2])

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
      ['condition-0', 'condition-1', 'false', 'old'].map((id, i) => ['source', id, 'bottom', (width * (2 * i + 1)) / 8, height]),
    )
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
