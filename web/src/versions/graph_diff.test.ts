import {describe, expect, it} from 'vitest'
import type {Check, Drawing} from '../edit/check.ts'
import {graphDiff} from './graph_diff.ts'

const side = (
  nodes: Record<string, string>,
  edges: [string, string, string?][],
  more: Partial<NonNullable<Drawing['nodes']>[number]> = {},
): Check => {
  let text = ''
  const drawn = Object.entries(nodes).map(([id, own]) => {
    const offset = text.length
    text += `${own}\n`
    const place = (o: number) => ({line: 1, column: 1, offset: o})
    return {
      id,
      kind: 'agent',
      word: 'agent',
      title: id,
      detail: '',
      hidden: false,
      span: {start: place(offset), end: place(offset + own.length)},
      ...more,
    }
  })
  const lines = edges.map(([from, to, label = '']) => ({id: from + to, from, to, kind: 'run', port: 'out', label}))
  return {text, drawing: {nodes: drawn, edges: lines, width: 1, height: 1} as unknown as Drawing} as Check
}

describe('the difference of two graphs', () => {
  it('has nodes and edges that were added, removed and changed', () => {
    const a = side({one: 'prompt: a', two: 'x', gone: 'y'}, [
      ['one', 'two'],
      ['two', 'gone', 'else'],
    ])
    const b = side({one: 'prompt: b', two: 'x', more: 'z'}, [
      ['one', 'two'],
      ['two', 'more', 'else'],
    ])
    expect(graphDiff(a, b)).toEqual({
      nodes: [
        {id: 'one', title: 'one', word: 'agent', how: 'changed'},
        {id: 'gone', title: 'gone', word: 'agent', how: 'removed'},
        {id: 'more', title: 'more', word: 'agent', how: 'added'},
      ],
      edges: [
        {from: 'two', to: 'gone', label: 'else', how: 'removed'},
        {from: 'two', to: 'more', label: 'else', how: 'added'},
      ],
    })
  })
  it('is empty where nodes moved in the text, or are indented otherwise', () => {
    const a = side({one: 'type: a\nprompt: b', two: 'x'}, [['one', 'two']])
    const b = side({two: 'x', one: '  type: a\n\n    prompt: b  '}, [['one', 'two']])
    expect(graphDiff(a, b)).toEqual({nodes: [], edges: []})
  })
  it('leaves out points and frames, and what cannot be drawn', () => {
    expect(graphDiff(side({one: 'a'}, [], {hidden: true}), side({two: 'a'}, [], {kind: 'frame'}))).toEqual({
      nodes: [],
      edges: [],
    })
    const none = {text: '', drawing: null}
    expect(graphDiff(none, side({one: 'a'}, [])).nodes).toHaveLength(1)
  })
})
