import {expect, it} from 'vitest'
import {type Box, reveal} from './editor_parts.ts'
import type {FlowInstance} from './Flow.tsx'

it('brings into view what is not wholly there, by its own size', () => {
  const seen = {left: 0, top: 0, right: 1000, bottom: 500}
  const root = {querySelector: () => ({getBoundingClientRect: () => seen})} as unknown as HTMLElement
  const centres = (box: Box) => {
    const out: unknown[] = []
    const f = {
      flowToScreenPosition: (p: {x: number; y: number}) => ({x: p.x * 2, y: p.y * 2}),
      getZoom: () => 2,
      setCenter: (...args: unknown[]) => Promise.resolve(out.push(args)),
    } as unknown as FlowInstance
    reveal(f, root, box)
    return out
  }
  expect(centres({x: 250, y: 200, width: 250, height: 50})).toEqual([])
  expect(centres({x: 250, y: 200, width: 252, height: 50})).toEqual([[376, 225, {zoom: 2}]])
  expect(centres({x: -1, y: 0, width: 10, height: 10})).toHaveLength(1)
  expect(centres({x: 0, y: 0, width: 10, height: 251})).toHaveLength(1)
})
