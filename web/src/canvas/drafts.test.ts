import {describe, expect, it} from 'vitest'
import {Raw} from '../doc/style.ts'
import {draftsOf, means, typedJSON, typedNumber} from './drafts.ts'

describe('what is typed into a field', () => {
  it.each([
    ['12345678901234567890', new Raw('12345678901234567890')],
    ['1.50', new Raw('1.50')],
    [' -0 ', new Raw('-0')],
    ['.5', 0.5],
    ['+5', 5],
    ['', undefined],
  ])('is a number: %j', (text, value) => expect(typedNumber(text)).toEqual({value}))
  it.each(['-', '1e', '1,5', '0x10', 'Infinity', 'three', '1 2'])('is no number: %j', text =>
    expect(typedNumber(text)).toEqual({why: 'Not a number.'}),
  )
  it('is JSON with its digits, nothing, or why it is neither', () => {
    expect(typedJSON('[1.50]')).toEqual({value: [new Raw('1.50')]})
    expect(typedJSON(' \n')).toEqual({value: undefined})
    expect(typedJSON('{"a": ')).toEqual({why: expect.stringMatching(/^Not valid JSON: /)})
    expect(typedJSON('{"a": 1, "a": 2}')).toEqual({why: 'Not valid JSON: the key "a" is there more than once.'})
  })
  it.each([
    ['{"a":1}', '{\n  "a": 1\n}', true],
    ['{"a":1.0}', '{\n  "a": 1\n}', false],
    ['{"a":', '{\n  "a": 1\n}', false],
    ['', '', true],
    [' 3', '3', true],
  ])('%j is what the document has: %j', (typed, now, want) => expect(means(typed, now)).toBe(want))
  it('is held by the document', () => {
    const [a, b] = [{}, {}]
    draftsOf(a).set('x', {typed: '{', over: ''})
    expect(draftsOf(a).get('x')?.typed).toBe('{')
    expect(draftsOf(b).size).toBe(0)
  })
})
