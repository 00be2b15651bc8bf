import {expect, it} from 'vitest'
import {partsOf} from './text_parts.ts'

const cut = (text: string, first: number, more: number, count = Number.POSITIVE_INFINITY) =>
  partsOf(text, first, more, count).map(p => (p.isLines ? [text.slice(p.from, p.to)] : text.slice(p.from, p.to)))

it('splits a text behind lines, and in lines that are too long', () => {
  expect(cut('', 4, 8)).toEqual([])
  expect(cut('ab\n', 4, 8)).toEqual(['ab\n'])
  expect(cut('a\nbc\nd', 4, 8)).toEqual([['a\n'], 'bc\nd'])
  expect(cut('a\n\n\nb\nc', 3, 3)).toEqual([['a\n\n'], ['\nb\n'], 'c'])
  expect(cut('abcdefgh', 3, 3)).toEqual(['abc', 'def', 'gh'])
  // A part that starts within a line is not a line of its own.
  expect(cut('abcde\nf\ngh\n', 3, 4)).toEqual(['abc', 'de\n', ['f\n'], ['gh\n']])
})

it('parts no character, and no line end of Windows', () => {
  expect(cut('a🎵b', 2, 2)).toEqual(['a', '🎵', 'b'])
  expect(cut('ab\r\nc', 3, 3)).toEqual(['ab', '\r\nc'])
})

it('keeps the parts that are shown as more are', () => {
  const text = Array.from({length: 400}, (_, i) => 'x'.repeat(i % 23)).join('\n')
  const all = partsOf(text, 12, 50, Number.POSITIVE_INFINITY)
  expect(all.map(p => text.slice(p.from, p.to)).join('')).toBe(text)
  for (let count = 0; count <= all.length; count++) expect(partsOf(text, 12, 50, count)).toEqual(all.slice(0, count))
  for (const p of all) expect(p.to - p.from).toBeLessThanOrEqual(p.from === 0 ? 12 : 50)
})
