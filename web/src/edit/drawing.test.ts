import {describe, expect, it, vi} from 'vitest'
import type {Check, Problem} from './check.ts'
import {type DrawnNode, nodeAt, worstOf} from './drawing.ts'

vi.hoisted(() => {
  vi.stubGlobal('document', {querySelector: () => null})
  vi.stubGlobal('window', {location: {origin: 'http://127.0.0.1'}})
})

const node = (id: string, from: number, to: number) =>
  ({id, span: {start: {line: 1, column: 1, offset: from}, end: {line: 1, column: 1, offset: to}}}) as DrawnNode

describe('a drawing', () => {
  it('has the innermost node of a place', () => {
    const nodes = [node('frame', 0, 100), node('inner', 10, 50), node('leaf', 20, 30), {...node('none', 0, 0), span: null}]
    expect([0, 15, 20, 30, 31, 60, 101].map(at => nodeAt(nodes, at)?.id)).toEqual(['frame', 'inner', 'leaf', 'leaf', 'inner', 'frame', undefined])
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
})
