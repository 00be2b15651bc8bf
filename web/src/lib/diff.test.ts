import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {diff, type Part} from './diff.ts'

const side = (parts: Part[], not: Part['is']) =>
  parts
    .filter(p => p.is !== not)
    .map(p => p.text)
    .join('')

const shown = (a: string, b: string) => diff(a, b).map(p => `${{same: '=', left: '-', right: '+'}[p.is]}${p.text}`)

describe('diff', () => {
  it('names words of lines that changed', () => {
    expect(shown('Dear Ada,\ncome on Sunday.\nYours\n', 'Dear Ada,\ncome on Monday, do.\nYours\n')).toEqual([
      '=Dear Ada,\ncome on ',
      '-Sunday',
      '+Monday, do',
      '=.\nYours\n',
    ])
  })
  it('has lines that came and went', () => {
    expect(shown('a\nb\n', 'a\nx\nb\n')).toEqual(['=a\n', '+x\n', '=b\n'])
    expect(shown('', 'a')).toEqual(['+a'])
    expect(shown('a', '')).toEqual(['-a'])
    expect(shown('', '')).toEqual([])
  })
  it('always has both texts', () => {
    const text = fc.array(fc.constantFrom('a', 'b', ' ', '\n', 'word', 'é'), {maxLength: 60}).map(l => l.join(''))
    fc.assert(
      fc.property(text, text, (a, b) => {
        const parts = diff(a, b)
        expect([side(parts, 'right'), side(parts, 'left')]).toEqual([a, b])
        if (a === b) expect(parts.every(p => p.is === 'same')).toBe(true)
      }),
    )
  })
  it('has an end for texts of megabytes', () => {
    const [a, b] = [
      Array.from({length: 60_000}, (_, i) => `left ${i}\n`).join(''),
      Array.from({length: 60_000}, (_, i) => `right ${i}\n`).join(''),
    ]
    const begun = performance.now()
    const parts = diff(a, b)
    expect(side(parts, 'right').length).toBe(a.length)
    expect(performance.now() - begun).toBeLessThan(5000)
  })
})
