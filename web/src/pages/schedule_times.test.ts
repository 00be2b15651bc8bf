import {describe, expect, it} from 'vitest'
import {placesOf, titleOf} from './schedule_times.ts'

const at = (ms: number) => new Date(ms).toISOString()

describe('schedules', () => {
  it('have times on one axis', () => {
    expect(placesOf([at(2000), at(3000)], [at(2000), at(3000), at(5000)], 1000)).toEqual([0.25, 0.5])
    expect(placesOf([at(500)], [], 1000)).toEqual([0])
    expect(placesOf([], [at(5)], 1)).toEqual([])
  })
  it('are named by what they have', () => {
    expect(titleOf({workflow: 'news', branch: null, id: null})).toBe('news')
    expect(titleOf({workflow: 'news', branch: 'daily', id: 'early'})).toBe('news · daily · early')
  })
})
