import {expect, it} from 'vitest'
import {readCanvas} from './document.ts'
import {emptyCanvas, slug} from './new_canvas.ts'

it.each([
  ['Letter to Ada', 'letter-to-ada'],
  ['  Über  Straße 7! ', 'uber-stra-e-7'],
  ['日本', ''],
])('the id of %j is %j', (name, want) => expect(slug(name)).toBe(want))

it('a drawing begins with a start', () => {
  const c = readCanvas(emptyCanvas('a "b"'))
  expect('why' in c ? c.why : [c.name, c.nodes.map(n => n.kind), c.edges]).toEqual(['a "b"', ['start'], []])
})
