import type {SchemaObject} from '../../lib/json_schema.ts'
import {indentOf} from '../indent.ts'
import type {Language} from '../languages.ts'
import {type Facts, factsOf, hintsOf, type Kind, keysOf, kindsOf, valuesOf} from './facts.ts'
import {expressionAt, namedAt, namesOf} from './names.ts'
import {type Place, placeAt} from './place.ts'
import {Schemas, type Shape} from './schema.ts'
import {wordsOf} from './words.ts'

// Vocabulary is the input of completion and hover: the schema of the document's format, and the
// agents that are stored on the server.
export type Vocabulary = {format: string; schema: SchemaObject | null; agents: readonly string[]}

// Offer is a completion at the cursor. insert replaces the existing text, and the cursor is then
// after its first `cursor` characters.
export type Offer = {
  label: string
  detail: string
  rank: number
  facts: Facts | null
  insert: string
  cursor: number
  // again means that the inserted text needs a further completion.
  again: boolean
}

// Offers are the completions at a position. The typed text starts at from; lead characters before
// it and tail characters after the cursor are replaced with it.
export type Offers = {from: number; lead: number; tail: number; list: Offer[]}

// longest limits the texts that are examined, in UTF-16 code units: handwritten texts are far
// smaller.
const longest = 2_000_000

// offersAt returns the completions at an offset of a text, or null if there are none.
export function offersAt(text: string, offset: number, language: Language, known: Vocabulary): Offers | null {
  if (text.length > longest) return null
  const p = placeAt(text, offset, language)
  if (!p) return null
  const names = namesOf(p.root, known.format, p.steps)
  if (p.kind === 'value') {
    const expression = expressionAt(p.typed, offset, names, wordsOf(known.schema))
    if (expression) {
      const list = expression.labels.map((label, i) =>
        offerOf({label, detail: expression.about, rank: -i, insert: label}),
      )
      const tail = /^\w*(\s*\}\})?/.exec(text.slice(offset, offset + 100))!
      const closes = list.some(o => o.label.startsWith('{{')) && tail[1] !== undefined
      return list.length === 0 ? null : {from: expression.from, lead: 0, tail: closes ? tail[0].length : 0, list}
    }
    if (p.quote === '|') return null
  }
  if (!known.schema) return null
  const schemas = new Schemas(known.schema)
  const write = new Writer(text, offset, language, p)
  const list =
    p.kind === 'key'
      ? keyOffers(schemas, p, write)
      : valueOffers(schemas, p, write, namedAt(p, known.format, names, known.agents))
  return list.length === 0 ? null : {from: p.from, lead: p.lead, tail: p.tail, list}
}

const offerOf = (o: Partial<Offer> & {label: string; insert: string}): Offer => ({
  detail: '',
  rank: 0,
  facts: null,
  cursor: o.insert.length,
  again: false,
  ...o,
})

function keyOffers(schemas: Schemas, p: Place, write: Writer): Offer[] {
  const shapes = schemas.shapes(p.steps, p.node)
  return keysFor(schemas, shapes, p, write)
}

function keysFor(schemas: Schemas, shapes: readonly Shape[], p: Place, write: Writer): Offer[] {
  return keysOf(shapes, p.node).map(k => {
    const below = schemas.child(shapes, k.key, null)
    const facts = factsOf(k.key, below, k.required)
    return offerOf({
      label: k.key,
      detail: k.required ? 'required' : facts.type,
      rank: k.rank,
      facts,
      ...write.key(k.key, kindsOf(below)[0] ?? 'text'),
    })
  })
}

function valueOffers(schemas: Schemas, p: Place, write: Writer, names: readonly string[]): Offer[] {
  const shapes = schemas.shapes(p.steps, null)
  const values = valuesOf(shapes)
  const kinds = kindsOf(shapes)
  const facts = factsOf(String(p.steps.at(-1)?.to ?? ''), shapes)
  const all = [
    ...names.map(label => ({label, detail: 'in this document'})),
    ...values.map(label => ({label, detail: ''})),
  ]
  const more = values.length === 0 ? hintsOf(shapes).map(label => ({label, detail: 'for example'})) : []
  const bare = kinds.some(k => k === 'number' || k === 'boolean') || values.every(v => v === 'true' || v === 'false')
  const out = [...all, ...more].map(({label, detail}, i) => {
    const named = i < names.length
    return offerOf({
      label,
      detail,
      rank: 2 - i / 1000,
      facts,
      insert: write.value(label, !named && (bare || typeof exactOf(shapes, label) !== 'string')),
    })
  })
  if (p.quote !== '') return out
  for (const kind of ['map', 'list'] as const) if (kinds.includes(kind)) out.push(...write.empty(kind, facts))
  // A text that is alone may also become the first key of a map.
  if (p.own && kinds.includes('map') && !p.flow)
    out.push(...keysFor(schemas, shapes, {...p, node: {...p.node, entries: []}}, write))
  return out
}

const exactOf = (shapes: readonly Shape[], label: string): unknown =>
  shapes
    .flat()
    .flatMap(s => [...(s.enum ?? []), s.const, s.default])
    .find(v => v !== undefined && String(v) === label)

// Writer writes keys and values in the style of the text around the cursor.
class Writer {
  readonly #unit: string
  readonly #eol: string
  readonly #before: string
  readonly #after: string

  constructor(
    text: string,
    offset: number,
    readonly language: Language,
    readonly p: Place,
  ) {
    this.#unit = indentOf(text)
    this.#eol = text.includes('\r\n') ? '\r\n' : '\n'
    const inside = p.flow || language === 'json'
    // Siblings on the same level may lack commas.
    const last = /[^\s]\s*$/.exec(text.slice(Math.max(0, p.from - p.lead - 1000), p.from - p.lead))?.[0][0]
    const next = /[^\s]/.exec(text.slice(offset + p.tail, offset + p.tail + 1000))?.[0]
    const item = p.kind === 'key' || typeof p.steps.at(-1)?.to === 'number'
    this.#before = inside && item && last !== undefined && !'{[,'.includes(last) ? ', ' : ''
    this.#after = inside && !p.colon && next !== undefined && !',}]'.includes(next) ? ', ' : ''
  }

  get #json(): boolean {
    return this.language === 'json'
  }

  // key returns a key with the start of its value.
  key(name: string, kind: Kind): {insert: string; cursor: number; again: boolean} {
    const {p} = this
    const key = `${this.#before}${this.#json || p.quote !== '' ? JSON.stringify(name) : plain(name)}`
    if (p.colon) return {insert: key, cursor: key.length, again: false}
    if (this.#json || p.flow) {
      const quoted =
        kind === 'map'
          ? '{}'
          : kind === 'list'
            ? '[]'
            : !this.#json
              ? ''
              : kind === 'number'
                ? '0'
                : kind === 'boolean'
                  ? 'true'
                  : '""'
      const head = `${key}: ${quoted}`
      const inner = quoted.length === 2 ? 1 : quoted === '' ? 0 : quoted.length
      return {insert: head + this.#after, cursor: head.length - inner, again: kind !== 'number'}
    }
    const deeper = `${this.#eol}${' '.repeat(Math.max(0, p.column))}${this.#unit}`
    const insert = `${key}:${kind === 'map' ? deeper : kind === 'list' ? `${deeper}- ` : ' '}`
    return {insert, cursor: insert.length, again: true}
  }

  // value returns a value. bare means that it is not a string.
  value(text: string, bare: boolean): string {
    const {p} = this
    const quote = p.quote === "'" ? "'" : '"'
    const quoted = quote === "'" ? `'${text.replaceAll("'", "''")}'` : JSON.stringify(text)
    const written = p.quote !== '' || (this.#json && !bare) ? quoted : bare || this.#json ? text : plain(text)
    return `${this.#before}${written}${this.#after}`
  }

  // empty returns the start of a map or a list.
  empty(kind: 'map' | 'list', facts: Facts): Offer[] {
    const {p} = this
    if (this.#json || p.flow) {
      const label = kind === 'map' ? '{}' : '[]'
      return [
        offerOf({
          label,
          detail: kind,
          facts,
          insert: this.#before + label + this.#after,
          cursor: this.#before.length + 1,
          again: true,
        }),
      ]
    }
    if (p.own) return kind === 'list' ? [offerOf({label: '- ', detail: 'list', facts, insert: '- ', again: true})] : []
    const parent = p.steps.at(-1)?.node.column ?? 0
    const insert = `${this.#eol}${' '.repeat(Math.max(0, parent))}${this.#unit}${kind === 'list' ? '- ' : ''}`
    return [offerOf({label: kind === 'list' ? '- …' : '…', detail: kind, facts, insert, again: true})]
  }
}

// plain returns a YAML string without quotes, if it has the same meaning then.
function plain(text: string): string {
  const safe =
    /^[A-Za-z_$@./][\w $@./{}+-]*$/.test(text) && !/[{}]/.test(text) && !/\s$/.test(text) && !text.startsWith('@')
  return safe && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text) ? text : JSON.stringify(text)
}
