import * as fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {apply, invert, JSONEdit, Raw} from './edit.ts'
import {find, type Path, parse, valueOf} from './tree.ts'

type Do = (e: JSONEdit) => unknown

const edited = (text: string, f: Do): string => {
  const e = new JSONEdit(text)
  f(e)
  expect(apply(text, e.changes())).toBe(e.text)
  expect(apply(e.text, invert(text, e.changes()))).toBe(text)
  return e.text
}

const drawn = `{"name": "Post",
 "nodes": [
   {"id": "s", "type": "start", "data": {}},
   {"id": "w", "type": "agent"}],
 "connections": []}
`
const expanded = '{\n\t"nodes": [\n\t\t{\n\t\t\t"id": "s"\n\t\t}\n\t],\n\t"connections": []\n}\n'

describe('edits of JSON text', () => {
  it.each<[string, string, Do, string]>([
    ['a value', '{"a": 1, "b": [1.50, 2]}', e => e.set(['b', 1], 3), '{"a": 1, "b": [1.50, 3]}'],
    [
      'a new key on the line',
      drawn,
      e => e.set(['nodes', 0, 'data', 'initialInput'], 'bees'),
      drawn.replace('{}', '{"initialInput": "bees"}'),
    ],
    ['a new key in its own line', drawn, e => e.set(['id'], 'x'), drawn.replace('[]}', '[],\n "id": "x"}')],
    [
      'an item like those beside it',
      drawn,
      e => e.append(['nodes'], {id: 'x', type: 'if'}),
      drawn.replace('agent"}]', 'agent"},\n   {"id": "x", "type": "if"}]'),
    ],
    [
      'an item of an empty list',
      drawn,
      e => e.append(['connections'], {source: 's', target: 'w'}),
      drawn.replace('[]', '[\n   {"source": "s", "target": "w"}\n ]'),
    ],
    [
      'an item in lines of tabs',
      expanded,
      e => e.append(['nodes'], {id: 'x'}),
      expanded.replace('\t\t}\n', '\t\t},\n\t\t{\n\t\t\t"id": "x"\n\t\t}\n'),
    ],
    [
      'an item of an empty list in lines',
      expanded,
      e => e.append(['connections'], {a: 1}),
      expanded.replace('[]', '[\n\t\t{\n\t\t\t"a": 1\n\t\t}\n\t]'),
    ],
    [
      'lines of Windows',
      '{\r\n  "a": 1\r\n}',
      e => e.set(['b'], [1]),
      '{\r\n  "a": 1,\r\n  "b": [\r\n    1\r\n  ]\r\n}',
    ],
    ['a compact text', '{"a":1,"b":[]}', e => e.append(['b'], {x: 1, y: 2}, 3), '{"a":1,"b":[{"x":1,"y":2},3]}'],
    ['the first of a list', '[1, 2, 3]', e => e.insert([], 0, 0), '[0, 1, 2, 3]'],
    ['no first item', '[1, 2, 3]', e => e.remove([0]), '[2, 3]'],
    ['no last item', '[1,\n 2,\n 3\n]', e => e.remove([2]), '[1,\n 2\n]'],
    ['no items', '[\n 1, 2\n]', e => e.removeItems([], [0, 1]), '[]'],
    ['some items', '[0, 1, 2, 3, 4, 5]', e => e.removeItems([], [5, 0, 1, 3]), '[2, 4]'],
    ['no key', '{"a": 1, "b": 2}', e => e.remove(['b']), '{"a": 1}'],
    ['a key that is not there', '{"a": 1}', e => e.remove(['b', 'c']), '{"a": 1}'],
    ['an item moved', '[ {"a":1},\n 2, 3 ]', e => e.move([], 0, 2), '[ 2,\n 3, {"a":1} ]'],
    ['a key renamed', '{"a" : 1.0}', e => e.rename(['a'], 'ä"'), '{"ä\\"" : 1.0}'],
    [
      'digits and escapes that are kept',
      '[{"n": 12345678901234567890, "t": "\\u00e9"}]',
      e => e.append([], e.raw([0])),
      '[{"n": 12345678901234567890, "t": "\\u00e9"}, {"n": 12345678901234567890, "t": "\\u00e9"}]',
    ],
    ['a byte order mark', '\ufeff{"a": 1}', e => e.set(['a'], 2), '\ufeff{"a": 2}'],
    ['a key __proto__', '{"a": 1}', e => e.set(['__proto__'], 2), '{"a": 1, "__proto__": 2}'],
    ['several edits', '{"a": 1, "b": 2}', e => [e.set(['c'], 3), e.remove(['a']), e.set(['c'], 4)], '{"b": 2, "c": 4}'],
  ])('%s', (_, text, f, want) => {
    expect(edited(text, f)).toBe(want)
  })

  it.each<[string, string, Do, string]>([
    ['a comment behind what goes', '{"a": 1, // one\n "b": 2}', e => e.remove(['a']), '{ // one\n "b": 2}'],
    ['a comment before the last', '[1, /* two, 2 */ 2]', e => e.remove([1]), '[1 /* two, 2 */ ]'],
    ['a comment in an empty object', '{"a": { // none\n}}', e => e.set(['a', 'b'], 1), '{"a": { // none\n\n"b": 1\n}}'],
    ['a trailing comma', '[1, 2,]', e => e.append([], 3), '[1, 2, 3,]'],
    [
      'comments around all',
      '[/* a */ 1, /* b */ 2 /* c */]',
      e => e.removeItems([], [0, 1]),
      '[/* a */  /* b */  /* c */]',
    ],
  ])('keep %s', (_, text, f, want) => {
    const out = edited(text, f)
    expect(out).toBe(want)
    parse(out)
  })

  it.each<[string, string, Do, RegExp]>([
    ['text that is no JSON', '{"a": }', e => e.set(['a'], 1), /value expected/],
    ['a key that is there twice', '{"a": 1, "a": 2}', e => e.set(['a'], 1), /"a" is there more than once/],
    ['a path to nothing', '{"a": 1}', e => e.set(['b', 'c'], 1), /no value at b.c/],
    ['an append to what is no list', '{"a": 1}', e => e.append(['a'], 1), /no value at a/],
    ['a rename to a key that is there', '{"a": 1, "b": 2}', e => e.rename(['a'], 'b'), /"b" is there already/],
    ['a text 100,000 levels deep', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, e => e.append([], 1), /too deeply/],
  ])('refuse %s, and change nothing', (_, text, f, why) => {
    const e = new JSONEdit(text)
    expect(() => f(e)).toThrow(why)
    expect(e.text).toBe(text)
    expect(e.changes()).toEqual([])
  })
})

// JSON text in any style, with random white space, order and digits.
const space = fc.constantFrom('', '', ' ', '\n', '\n  ', '\t', '\r\n')
const spelled = (v: unknown, gaps: () => string): string => {
  const gap = gaps()
  if (Array.isArray(v)) return `[${gap}${v.map(x => spelled(x, gaps) + gaps()).join(`,${gap}`)}]`
  if (v === null || typeof v !== 'object')
    return typeof v === 'number' && Number.isInteger(v) ? `${v}.0` : JSON.stringify(v)
  return `{${gap}${Object.entries(v)
    .map(([k, x]) => `${JSON.stringify(k)}${gaps()}:${gaps()}${spelled(x, gaps)}`)
    .join(`${gaps()},${gap}`)}${gaps()}}`
}
const value = fc.letrec(tie => ({
  any: fc.oneof(
    {maxDepth: 3, withCrossShrink: true},
    fc.constantFrom(null, true, false),
    fc.integer({min: -99, max: 99}),
    fc.string({unit: 'binary', maxLength: 6}),
    fc.array(tie('any'), {maxLength: 4}),
    fc.dictionary(fc.string({unit: 'binary', maxLength: 4}), tie('any'), {maxKeys: 4}),
  ),
})).any
const document = fc.tuple(value, fc.array(space, {minLength: 1, maxLength: 20})).map(([v, gaps]) => {
  let i = 0
  return {value: v, text: spelled(v, () => gaps[i++ % gaps.length]!)}
})

// everyPath returns the paths of all nested values.
function everyPath(v: unknown, at: Path = []): Path[] {
  if (v === null || typeof v !== 'object') return [at]
  return [at, ...Object.entries(v).flatMap(([k, x]) => everyPath(x, [...at, Array.isArray(v) ? Number(k) : k]))]
}

const at = (v: unknown, path: Path): unknown =>
  path.reduce<unknown>((x, k) => (x as Record<string | number, unknown>)[k], v)

// changed returns a value after a change that is made in the obvious way.
function changed(v: unknown, path: Path, f: (parent: object, key: string | number) => unknown): unknown {
  const out = structuredClone(v)
  f(at(out, path.slice(0, -1)) as object, path.at(-1)!)
  return out
}

const same = (text: string, want: unknown) => expect(JSON.stringify(valueOf(parse(text)))).toBe(JSON.stringify(want))

describe('edits of any JSON text', () => {
  it('set a value, and change no byte outside of it', () => {
    fc.assert(
      fc.property(document, fc.nat(), value, (d, n, v) => {
        const paths = everyPath(d.value)
        const path = paths[n % paths.length]!
        const was = find(parse(d.text), path)!
        const out = edited(d.text, e => e.set(path, v))
        same(out, path.length === 0 ? v : changed(d.value, path, (p, k) => Reflect.set(p, k, v)))
        expect(out.slice(0, was.offset)).toBe(d.text.slice(0, was.offset))
        const rest = d.text.slice(was.offset + was.length)
        expect(out.slice(out.length - rest.length)).toBe(rest)
      }),
    )
  })
  it('remove a value, with no more than its separators', () => {
    fc.assert(
      fc.property(document, fc.nat(), (d, n) => {
        const paths = everyPath(d.value).filter(p => p.length > 0)
        if (paths.length === 0) return
        const path = paths[n % paths.length]!
        const e = new JSONEdit(d.text)
        const was = find(e.root, path)!
        e.remove(path)
        same(
          e.text,
          changed(d.value, path, (p, k) =>
            Array.isArray(p) ? p.splice(k as number, 1) : Reflect.deleteProperty(p, k),
          ),
        )
        for (const c of e.changes()) {
          expect(c.insert).toBe('')
          const own = was.parent?.type === 'property' ? was.parent : was
          const beside =
            d.text.slice(c.from, Math.max(c.from, own.offset)) +
            d.text.slice(Math.min(c.to, own.offset + own.length), c.to)
          expect(beside).toMatch(/^[\s,]*$/)
        }
        expect(apply(e.text, invert(d.text, e.changes()))).toBe(d.text)
      }),
    )
  })
  it('insert, append and move items', () => {
    fc.assert(
      fc.property(
        document,
        fc.nat(),
        fc.nat(),
        fc.nat(),
        value,
        fc.constantFrom('insert', 'append', 'move', 'cut'),
        (d, n, a, b, v, how) => {
          const lists = everyPath(d.value).filter(p => Array.isArray(at(d.value, p)))
          const path = lists[n % Math.max(1, lists.length)]
          if (!path) return
          const want = structuredClone(d.value)
          const list = at(want, path) as unknown[]
          const [i, j] = [a % Math.max(1, list.length), b % Math.max(1, list.length)]
          if (list.length === 0 && how === 'move') return
          const out = edited(d.text, e => {
            if (how === 'insert') e.insert(path, i, v)
            else if (how === 'append') e.append(path, v, v)
            else if (how === 'move') e.move(path, i, j)
            else e.removeItems(path, [i, j])
          })
          if (how === 'insert') list.splice(i, 0, v)
          else if (how === 'append') list.push(v, v)
          else if (how === 'move') list.splice(j, 0, ...list.splice(i, 1))
          else list.splice(0, list.length, ...list.filter((_, k) => k !== i && k !== j))
          same(out, want)
        },
      ),
    )
  })
  it('add and rename keys', () => {
    fc.assert(
      fc.property(document, fc.nat(), fc.string({unit: 'binary', maxLength: 4}), value, (d, n, key, v) => {
        const maps = everyPath(d.value).filter(p => {
          const x = at(d.value, p)
          return x !== null && typeof x === 'object' && !Array.isArray(x)
        })
        const path = maps[n % Math.max(1, maps.length)]
        if (!path || key in (at(d.value, path) as object)) return
        const out = edited(d.text, e => e.set([...path, key], v))
        const got = valueOf(find(parse(out), path)!) as Record<string, unknown>
        expect(Object.keys(got)).toHaveLength(Object.keys(at(d.value, path) as object).length + 1)
        expect(JSON.stringify(got[key])).toBe(JSON.stringify(v))
        // After renaming and removing, the text has its original meaning.
        const back = edited(out, e => {
          e.rename([...path, key], `${key}-long-name`)
          e.remove([...path, `${key}-long-name`])
        })
        same(back, d.value)
      }),
    )
  })
})

it('takes a text as it is', () => {
  expect(edited('{"a": 1}', e => e.set(['b'], new Raw('[1.0]')))).toBe('{"a": 1, "b": [1.0]}')
})
