import {expect, it, vi} from 'vitest'
import {parse} from '../doc/tree.ts'
import {readCanvas, roundsShape} from './document.ts'
import {graphsOf} from './graphs.ts'

vi.mock('../doc/tree.ts', async original => {
  const real = await original<typeof import('../doc/tree.ts')>()
  return {...real, parse: vi.fn(real.parse)}
})

it('a text is parsed once, and a graph of it read once, for all who ask', () => {
  const text = '{"nodes": [], "branches": [{"id": "b", "nodes": [{"id": "n", "type": "set"}]}, {"id": "c"}]}'
  expect(graphsOf(text, 'rounds')).toHaveLength(3)
  expect(graphsOf(text, 'rounds')).toHaveLength(3)
  const branch = readCanvas(text, roundsShape(0))
  expect(readCanvas(text, roundsShape(0))).toBe(branch)
  expect(readCanvas(text, roundsShape(1))).not.toBe(branch)
  expect(readCanvas(text)).toMatchObject({why: 'the document has no list "connections"'})
  expect(parse).toHaveBeenCalledTimes(1)
  for (let i = 0; i < 2; i++) {
    expect(readCanvas('{', roundsShape(0))).toMatchObject({offset: 1})
    expect(graphsOf('{', 'rounds')).toHaveLength(1)
  }
  expect(parse).toHaveBeenCalledTimes(2)
})
