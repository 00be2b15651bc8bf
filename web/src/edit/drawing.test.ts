import {describe, expect, it, vi} from 'vitest'
import {kept} from '../lib/kept.ts'
import type {Check, Problem} from './check.ts'
import {type DrawnEdge, type DrawnNode, nodeAt, sameEdge, sameNode, worstOf} from './drawing.ts'

vi.hoisted(() => {
  vi.stubGlobal('document', {querySelector: () => null})
  vi.stubGlobal('window', {location: {origin: 'http://127.0.0.1'}})
})

const node = (id: string, from: number, to: number) =>
  ({id, span: {start: {line: 1, column: 1, offset: from}, end: {line: 1, column: 1, offset: to}}}) as DrawnNode

describe('a drawing', () => {
  it('has the innermost node of a place', () => {
    const nodes = [
      node('frame', 0, 100),
      node('inner', 10, 50),
      node('leaf', 20, 30),
      {...node('none', 0, 0), span: null},
    ]
    expect([0, 15, 20, 30, 31, 60, 101].map(at => nodeAt(nodes, at)?.id)).toEqual([
      'frame',
      'inner',
      'leaf',
      'leaf',
      'inner',
      'frame',
      undefined,
    ])
  })
  it('marks nodes by their worst problem', () => {
    const problem = (node: string, severity: Problem['severity'], branch = '') => ({node, severity, branch}) as Problem
    const problems = [
      problem('a', 'warning'),
      problem('a', 'error'),
      problem('b', 'warning'),
      problem('c', 'info'),
      problem('d', 'error', 'other'),
      problem('', 'error'),
    ]
    expect([...worstOf({problems, branch: ''} as unknown as Check)]).toEqual([
      ['a', 'error'],
      ['b', 'warning'],
    ])
  })
  const point = (x: number, y: number) => ({x, y})
  it('draws anew what looks different, not what has moved in the text', () => {
    const nodes = (shift: number, title = 'b') => [
      {...node('a', 0, 10), x: 0, y: 0, width: 10, height: 10, title: 'a'},
      {...node('b', 10 + shift, 20 + shift), x: 0, y: 50, width: 10, height: 10, title},
      {...node('c', 20 + shift, 30 + shift), x: 0, y: 90, width: 10, height: 10, title: 'c'},
    ]
    const was = nodes(0)
    expect(kept(was, nodes(1), sameNode)).toBe(was)
    expect(kept(was, nodes(1, 'B'), sameNode).map(n => was.includes(n as (typeof was)[number]))).toEqual([
      true,
      false,
      true,
    ])
    const edges = (y: number) =>
      ['e', 'f'].map(
        (id, i) =>
          ({id, from: 'a', to: 'b', label: '', points: [point(0, 0), point(0, y * i)]}) as unknown as DrawnEdge,
      )
    const lines = edges(10)
    expect(kept(lines, edges(10), sameEdge)).toBe(lines)
    expect(kept(lines, edges(20), sameEdge).map(e => lines.includes(e))).toEqual([true, false])
  })
})
