import {expect, it} from 'vitest'
import {around, sideOf, turned} from './route.ts'

const box = (x: number, y: number) => ({x, y, width: 200, height: 60})
const [a, b, c] = [box(0, 0), box(0, 120), box(0, 240)]

it('an edge to the next node is straight', () => expect(sideOf(a, 100, b, [a, b, c])).toBeNull())
it('an edge over a node goes around at the right', () => expect(sideOf(a, 100, c, [a, b, c])).toBe(228))
it('an edge back goes around at the left', () => expect(sideOf(c, 100, a, [a, b, c])).toBe(-28))
it('an edge to itself goes around', () => expect(sideOf(a, 100, a, [a])).toBe(-28))
it('a path has its ends', () => {
  const {path} = around(10, 20, 30, 400, 90)
  expect(path.startsWith('M 10,20 ')).toBe(true)
  expect(path.endsWith('L 30,400')).toBe(true)
  expect(path).not.toContain('NaN')
  expect(around(0, 0, 0, 0, 0).path).not.toContain('NaN')
})
it('a drawing from left to right has the same ways, turned', () => {
  const [left, middle, right] = [a, b, c].map(turned) as [typeof a, typeof a, typeof a]
  expect([left, middle, right].map(turned)).toEqual([a, b, c])
  expect(sideOf(turned(left), 100, turned(right), [left, middle, right].map(turned))).toBe(228)
  const {path} = around(20, 10, 400, 30, 90, true)
  expect(path.startsWith('M 20,10 ')).toBe(true)
  expect(path.endsWith('L 400,30')).toBe(true)
})
