import {describe, expect, it} from 'vitest'
import {curveOf} from './curve.ts'

describe('a route', () => {
  const p = [
    {x: 15, y: 0},
    {x: 30, y: 12},
    {x: 30, y: 24},
  ]
  it('begins and ends upright', () => expect(curveOf(p, false)).toBe('M 15 0 C 15 6 30 6 30 12 L 30 24'))
  it('is one curve from a node to itself', () =>
    expect(curveOf([...p, {x: 15, y: 6}], true)).toBe('M 15 0 C 30 12 30 24 15 6'))
  it('without points is nothing', () => expect(curveOf([], false)).toBe(''))
})
