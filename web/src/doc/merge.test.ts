import * as fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {apply, invert, JSONEdit} from './edit.ts'
import {exactly, laidOut} from './merge.ts'
import {find, parse, valueOf} from './tree.ts'

const text =
  `{"n": 12345678901234567890, "list": [1.50, {"a": 1e2, "b": -0}, "\\u00e9"], ` +
  `"10": 1, "2": {"x": 1E400}, // kept
  "last": null}`

// merged returns a text in which the value at a path was merged with a JSON text.
function merged(from: string, path: readonly (string | number)[], json: string): string {
  const e = new JSONEdit(from)
  e.merge(path, exactly(json))
  expect(apply(from, e.changes())).toBe(e.text)
  expect(apply(e.text, invert(from, e.changes()))).toBe(from)
  return e.text
}

describe('a value that is typed as JSON', () => {
  const list = find(parse(text), ['list'])!
  it('is laid out with its own digits and escapes', () => {
    expect(laidOut(text, list)).toBe('[\n  1.50,\n  {\n    "a": 1e2,\n    "b": -0\n  },\n  "\\u00e9"\n]')
    expect(laidOut('[ ]', parse('[ ]'))).toBe('[ ]')
  })
  it('changes nothing where nothing was edited', () => {
    expect(merged(text, ['list'], laidOut(text, list))).toBe(text)
    const plain = text.replace(' // kept', '')
    expect(merged(plain, [], laidOut(plain, parse(plain)))).toBe(plain)
  })
  it.each([
    ['one number', '[1.50, {"a": 1e2, "b": 2}, "\\u00e9"]', '-0', '2'],
    ['one text', '[1.50, {"a": 1e2, "b": -0}, "e"]', '"\\u00e9"', '"e"'],
    ['the digits of a number', '[1.5, {"a": 1e2, "b": -0}, "\\u00e9"]', '1.50', '1.5'],
    ['a key that goes', '[1.50, {"b": -0}, "\\u00e9"]', '"a": 1e2, ', ''],
    [
      'a key that comes',
      '[1.50, {"a": 1e2, "b": -0, "c": 12345678901234567891}, "\\u00e9"]',
      '-0}',
      '-0, "c": 12345678901234567891}',
    ],
    ['keys in another order', '[1.50, {"b": -0, "a": 1e2}, "\\u00e9"]', '{"a": 1e2, "b": -0}', '{"b": -0, "a": 1e2}'],
    ['an item that comes', '[1.50, 2.50, {"a": 1e2, "b": -0}, "\\u00e9"]', '1.50, ', '1.50, 2.50, '],
    ['an item at the end', '[1.50, {"a": 1e2, "b": -0}, "\\u00e9", [1.0]]', '"\\u00e9"]', '"\\u00e9", [1.0]]'],
    ['an item that goes', '[1.50, "\\u00e9"]', ' {"a": 1e2, "b": -0},', ''],
  ])('changes %s alone', (_, json, was, now) => expect(merged(text, ['list'], json)).toBe(text.replace(was, now)))
  it('keeps keys that are indices where they are', () => {
    const plain = text.replace(' // kept', '')
    expect(merged(plain, [], plain.replace('null', 'true'))).toBe(plain.replace('null', 'true'))
  })
  it.each(['{"a": 1, "a": 2}', '{"a": 1,}', '[1, // one\n2]', '{"a"', '', '1 2', '01', "{'a': 1}"])(
    'is refused: %j',
    json => expect(() => exactly(json)).toThrow(),
  )
  it('takes what is thousands of levels deep, or says that it is too deep', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    expect(() => exactly(deep)).toThrow(/too deeply/)
    const some = `${'['.repeat(500)}1.50${']'.repeat(500)}`
    expect(merged(`{"a": ${some}}`, ['a'], laidOut(some, parse(some)))).toBe(`{"a": ${some}}`)
  })
})

const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,24})(\.\d{1,20})?(e[+-]?\d{1,3})?$/)
const json = fc.letrec(tie => ({
  any: fc.oneof(
    {maxDepth: 3},
    digits,
    fc.string({unit: 'binary', maxLength: 4}).map(t => JSON.stringify(t)),
    fc.constantFrom('null', 'true'),
    fc.array(tie('any'), {maxLength: 4}).map(a => `[${a.join(', ')}]`),
    fc.dictionary(fc.string({maxLength: 2}), tie('any'), {maxKeys: 4}).map(
      d =>
        `{${Object.entries(d)
          .map(([k, v]) => `${JSON.stringify(k)}: ${v}`)
          .join(', ')}}`,
    ),
  ),
})).any as fc.Arbitrary<string>

describe('any value', () => {
  it('laid out and merged again is the same text', () => {
    fc.assert(
      fc.property(json, t => {
        expect(merged(t, [], laidOut(t, parse(t)))).toBe(t)
      }),
    )
  })
  it('merged with another one means that one, digit for digit', () => {
    // The digits of all numbers, in order.
    const numbers = (t: string): string[] => {
      const out: string[] = []
      const walk = (n: ReturnType<typeof parse>) => {
        if (n.type === 'number') out.push(t.slice(n.offset, n.offset + n.length))
        n.children?.forEach(walk)
      }
      walk(parse(t))
      return out.sort()
    }
    fc.assert(
      fc.property(json, json, (a, b) => {
        const got = merged(a, [], b)
        expect(valueOf(parse(got))).toEqual(valueOf(parse(b)))
        expect(numbers(got)).toEqual(numbers(b))
      }),
      {numRuns: 1000},
    )
  })
})
