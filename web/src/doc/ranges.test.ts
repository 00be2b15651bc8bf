import {describe, expect, it} from 'vitest'
import {pointer, readPath} from './path.ts'
import {find, type Path, parse, rangeOf} from './tree.ts'

const json = '{"nodes": [{"id": "ä👩", "data": {"a b": [1, 22]}}], "n": null}'
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
  })
  it('of JSON that has no such value', () => expect(find(parse(json), ['nodes', 7])).toBeNull())
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
