import {describe, expect, it} from 'vitest'
import {read} from './lines.ts'
import {Scanner} from './scan.ts'

// counted returns the result of f, and how many characters of a text it reads.
function counted<T>(text: string, f: (s: Scanner) => T): {got: T; looks: number} {
  let looks = 0
  const watched = new Proxy(Object(text) as object, {
    get(of, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) looks++
      const v = Reflect.get(of, key, of)
      return typeof v === 'function' ? v.bind(text) : v
    },
  })
  return {got: f(new Scanner(watched as unknown as string, false)), looks}
}

describe('a text in quotes', () => {
  it.each(['\n', ' \n', '\r\n', 'x\n  '])(
    'with many lines of %j is read in steps that grow with its length alone',
    line => {
      const text = `"a${line.repeat(2000)}  b"`
      const {got, looks} = counted(text, s => s.scalar(2))
      expect(got.to).toBe(text.length)
      expect(looks).toBeLessThan(12 * text.length)
    },
  )
  it('with empty lines ends where a line is indented by less', () => {
    const text = 'a: "x\n\n \n  y\n\n\nb: 1\n'
    const root = read(text, 'yaml', 0)
    expect(root.entries.map(e => [e.key.text, e.value.text])).toEqual([
      ['a', 'x\n\n \n  y'],
      ['b', '1'],
    ])
  })
  it('goes on behind empty lines, and may end in one', () => {
    const text = "a: 'x\n\n  y\n\n  '\nb: 1\n"
    const root = read(text, 'yaml', 0)
    expect(root.entries.map(e => [e.key.text, e.value.text])).toEqual([
      ['a', 'x\n\n  y\n\n  '],
      ['b', '1'],
    ])
  })
})
