import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {Exact, parse, stringify} from './exact.ts'
import {asText} from './json.ts'
import {changesOf, problemsOf} from './schema_check.ts'

describe('numbers that JavaScript cannot hold', () => {
  test.each([
    ['{"id": 12345678901234567890}', '{"id":12345678901234567890}'],
    ['[9007199254740993, 9007199254740991]', '[9007199254740993,9007199254740991]'],
    ['{"a": "9007199254740993", "b": "\\"9007199254740993"}', '{"a":"9007199254740993","b":"\\"9007199254740993"}'],
    ['0.12345678901234567890123', '0.12345678901234567890123'],
    ['-100000000000000000000000', '-100000000000000000000000'],
    ['1.2345678901234566e-07', '1.2345678901234566e-7'],
  ])('%s is kept', (text, want) => {
    expect(stringify(parse(text))).toBe(want)
  })

  test('they are shown and compared as they are', () => {
    const held = parse('{"account": 12345678901234567890}')
    expect(asText(held)).toContain('12345678901234567890')
    expect(changesOf(held, parse('{"account": 12345678901234567891}'))).toEqual(['/account'])
    expect(problemsOf({properties: {account: {type: 'integer'}}}, held)).toEqual([])
    expect(problemsOf({properties: {account: {type: 'string'}}}, held)).toHaveLength(1)
  })

  test('neither many digits nor many levels take long', () => {
    const zeros = `1.${'0'.repeat(400_000)}1`
    expect(stringify(parse(`[${zeros}, ${'0.5e-3'}]`))).toBe(`[${zeros},0.0005]`)
    const deep = `${'['.repeat(5000)}12345678901234567890${']'.repeat(5000)}`
    expect(() => parse(deep)).not.toThrow()
    expect(stringify(parse('{"__proto__": 12345678901234567890, "a": {"constructor": 1}}'))).toBe(
      '{"__proto__":12345678901234567890,"a":{"constructor":1}}',
    )
  })

  test('what is no JSON is refused', () => {
    for (const text of ['{"a": 12345678901234567890', '12345678901234567890.', '"', '{"a" 12345678901234567890}'])
      expect(() => parse(text)).toThrow(SyntaxError)
  })

  test('all other JSON is what JSON.parse gives', () => {
    fc.assert(
      fc.property(fc.json(), text => {
        const seen = parse(text)
        if (!JSON.stringify(seen).includes('source')) expect(seen).toEqual(JSON.parse(text))
      }),
    )
    fc.assert(
      fc.property(fc.bigInt(), n => {
        const v = parse(`[${n}]`) as unknown[]
        expect(v[0] instanceof Exact ? v[0].source : String(BigInt(v[0] as number))).toBe(String(n))
      }),
    )
  })
})
