import {describe, expect, it} from 'vitest'
import {pointer, readPath} from './path.ts'
import {find, type Path, parse, pathAt, rangeOf} from './tree.ts'
import {YAMLRanges} from './yaml.ts'

const json = '{"nodes": [{"id": "ä👩", "data": {"a b": [1, 22]}}], "n": null}'
const yaml = `# a comment
base: &base {model: fast}
agents:
  - name: "Ä👩"
    on: true
    <<: *base
  - *base
text: |
  one
  two
`

describe('ranges of values', () => {
  it.each<[Path, string]>([
    [['nodes', 0, 'id'], '"ä👩"'],
    [['nodes', 0, 'data', 'a b', 1], '22'],
    [['n'], 'null'],
    [[], json],
  ])('of JSON: %j', (path, want) => {
    const root = parse(json)
    const r = rangeOf(find(root, path)!)
    expect(json.slice(r.from, r.to)).toBe(want)
    if (want !== json) expect(pathAt(root, r.from + 1)).toEqual(path)
  })
  it('of JSON that has no such value', () => expect(find(parse(json), ['nodes', 7])).toBeNull())
  it('lead from a key to the value', () => expect(pathAt(parse(json), json.indexOf('a b'))).toEqual(['nodes', 0, 'data', 'a b']))
  it.each<[Path, string]>([
    [['agents', 0, 'name'], '"Ä👩"'],
    [['agents', 0, 'on'], 'true'],
    [['base', 'model'], 'fast'],
    [['text'], '|\n  one\n  two\n'],
  ])('of YAML: %j', (path, want) => {
    const r = new YAMLRanges(yaml).range(path)!
    expect(yaml.slice(r.from, r.to)).toBe(want)
    expect(new YAMLRanges(yaml).path(r.from + 1)).toEqual(path)
  })
  it('of YAML follow an alias', () => {
    const r = new YAMLRanges(yaml).range(['agents', 1, 'model'])!
    expect(yaml.slice(r.from, r.to)).toBe('fast')
  })
  it.each(['', '- [', 'a: *none', '"x', ': : :', '\ta: 1'])('of YAML that is broken (%j) are null', text => {
    expect(new YAMLRanges(text).range(['a', 'b'])).toBeNull()
    expect(Array.isArray(new YAMLRanges(text).path(1))).toBe(true)
  })
})

describe('paths', () => {
  it.each<[string, Path | null]>([
    ['', []],
    ['nodes[2].data.userPrompt', ['nodes', 2, 'data', 'userPrompt']],
    ['agents["my writer"].model', ['agents', 'my writer', 'model']],
    ['["a\\"\\x01\\U0001f469"][0]', ['a"\u0001👩', 0]],
    ['nodes[', null],
    ['.a', null],
    ['a b', null],
  ])('%j', (text, want) => expect(readPath(text)).toEqual(want))
  it('are written as pointers', () => expect(pointer(['a/b', 0, '~'])).toBe('/a~1b/0/~0'))
})
