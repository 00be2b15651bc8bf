import {readdirSync, readFileSync} from 'node:fs'
import fc from 'fast-check'
import {describe, expect, it} from 'vitest'
import {parse} from 'yaml'
import type {SchemaObject} from '../../lib/json_schema.ts'
import {languageOf} from '../languages.ts'
import {hoverAt} from './hover.ts'
import {read} from './lines.ts'
import {type Offer, type Offers, offersAt, type Vocabulary} from './offers.ts'
import {placeAt} from './place.ts'
import type {Node} from './tree.ts'

const root = new URL('../../../../', import.meta.url)
const schemaOf = (format: string) =>
  JSON.parse(readFileSync(new URL(`docs/schema/${format}.json`, root), 'utf8')) as SchemaObject

// documents returns the documents of a folder, with their formats as named in the schemas.
const documents = (folder: string) =>
  readdirSync(new URL(folder, root), {recursive: true, withFileTypes: true})
    .filter(
      f => f.isFile() && /\.(yaml|json)$/.test(f.name) && !/replies|hocket|tools|compose|agents|prices/.test(f.name),
    )
    .map(f => ({
      name: `${f.parentPath.split('/').at(-1)}/${f.name}`,
      text: readFileSync(`${f.parentPath}/${f.name}`, 'utf8'),
    }))
    .filter(d => d.text.length < 100_000)

const formatOf = (text: string): string =>
  /"?connections"?:/.test(text)
    ? 'canvas'
    : /"?node_?[tT]ype"?:/.test(text)
      ? 'routes'
      : /^"?workflow"?:|^\s*"workflow"/m.test(text)
        ? 'steps'
        : 'rounds'

const all = documents('examples/')
const known = new Map(
  ['canvas', 'rounds', 'routes', 'steps'].map(f => [f, {format: f, schema: schemaOf(f), agents: []} as Vocabulary]),
)

const applied = (text: string, offset: number, got: Offers, insert: string): string =>
  text.slice(0, got.from - got.lead) + insert + text.slice(offset + got.tail)

const parses = (text: string, json: boolean): boolean => {
  try {
    if (json) JSON.parse(text)
    else parse(text, {logLevel: 'silent'})
    return true
  } catch {
    return false
  }
}

// plainOf returns the value that was read, with strings as written.
const plainOf = (n: Node): unknown =>
  n.kind === 'map'
    ? Object.fromEntries(n.entries.map(e => [e.key.text, plainOf(e.value)]))
    : n.kind === 'list'
      ? n.items.map(plainOf)
      : n.quote === '|'
        ? ''
        : n.text

// shapeOf returns the keys and lengths of a parsed value, without its strings.
const shapeOf = (v: unknown): unknown =>
  Array.isArray(v)
    ? v.map(shapeOf)
    : v !== null && typeof v === 'object'
      ? Object.fromEntries(Object.entries(v).map(([k, x]) => [k, shapeOf(x)]))
      : 0

describe('the documents of the examples', () => {
  it('are many', () => expect(all.length).toBeGreaterThan(20))

  it.each(all)('$name is read as a parser reads it', ({text}) => {
    if (/<<:|^\s*\S*\s*[&*]\w/m.test(text)) return // aliases are not followed
    expect(shapeOf(plainOf(read(text, languageOf(text), 0)))).toEqual(shapeOf(parse(text)))
  })

  // If the document parses with a handwritten key added, it also parses with each offered key; no
  // such key is in the map yet.
  it.each(all)('$name can be completed everywhere', ({text}) => {
    const json = languageOf(text) === 'json'
    const k = known.get(formatOf(text))!
    const places: number[] = []
    for (let offset = 0; offset <= text.length; offset++) {
      hoverAt(text, offset, languageOf(text), k)
      if (offersAt(text, offset, languageOf(text), k) && placeAt(text, offset, languageOf(text))?.kind === 'key')
        places.push(offset)
    }
    expect(places.length).toBeGreaterThan(0)
    let keys = 0
    for (let i = 0; i < 10; i++) {
      const offset = places[Math.floor((i * places.length) / 10)]!
      const got = offersAt(text, offset, languageOf(text), k)!
      const place = placeAt(text, offset, languageOf(text))!
      const probe = `${json || place.quote ? '"zz-probe"' : 'zz-probe'}${place.colon ? '' : json ? ': null' : ': '}`
      if (!parses(applied(text, offset, got, probe), json)) continue
      keys++
      const broken = got.list.map(o => applied(text, offset, got, o.insert)).filter(t => !parses(t, json))
      expect(broken).toEqual([])
    }
    expect(keys).toBeGreaterThan(0)
  })
})

describe('any text', () => {
  const piece = fc.constantFrom(
    'workflow',
    'type',
    'agent',
    ':',
    ': ',
    '- ',
    '-',
    '\n',
    '\n  ',
    '\n    ',
    '{',
    '}',
    '[',
    ']',
    ',',
    '"',
    "'",
    '#',
    ' #',
    '|',
    '>',
    '&a',
    '*a',
    '!t',
    '\\',
    '\r\n',
    '\t',
    '{{',
    '}}',
    '$steps.',
    '---\n',
    '? ',
    '%',
    '👩',
    'é',
    '\ue000',
  )
  it('can be completed at any place', () => {
    const k = known.get('steps')!
    fc.assert(
      fc.property(fc.array(piece, {maxLength: 40}), fc.nat(), fc.boolean(), (parts, n, json) => {
        const text = (json ? '{' : '') + parts.join('')
        const offset = n % (text.length + 1)
        const check = (o: Offer, got: Offers) => {
          expect(got.from - got.lead).toBeGreaterThanOrEqual(0)
          expect(offset + got.tail).toBeLessThanOrEqual(text.length)
          expect(o.cursor).toBeLessThanOrEqual(o.insert.length)
        }
        for (const language of ['json', 'yaml'] as const) {
          const got = offersAt(text, offset, language, k)
          for (const o of got?.list ?? []) check(o, got!)
          hoverAt(text, offset, language, k)
        }
      }),
      {numRuns: 3000},
    )
  })
})
