import {type Node, type ParseError, parseTree, printParseErrorCode} from 'jsonc-parser'

// Path leads from the root of a document to a value, with keys of objects and indices of arrays.
export type Path = readonly (string | number)[]

// Range is a part of a text, in UTF-16 code units.
export type Range = {from: number; to: number}

export type {Node}

// TextError describes why a text cannot be read or edited as JSON, and where.
export class TextError extends Error {
  constructor(
    message: string,
    readonly offset: number,
  ) {
    super(message)
  }
}

// parse parses JSON, including comments and trailing commas, so that they are kept if a reader
// accepts them. It throws TextError.
export function parse(text: string): Node {
  const errors: ParseError[] = []
  let root: Node | undefined
  try {
    // The parser does not treat a byte order mark as white space; a blank has the same length.
    root = parseTree(text.startsWith('\ufeff') ? ` ${text.slice(1)}` : text, errors, {allowTrailingComma: true})
  } catch (err) {
    if (err instanceof RangeError) throw new TextError('the document is nested too deeply', 0)
    throw err
  }
  const first = errors[0]
  if (first) throw new TextError(words(printParseErrorCode(first.error)), first.offset)
  if (!root) throw new TextError('the document is empty', 0)
  return root
}

const words = (code: string): string => code.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()

// member returns the property of an object, or null if it has none. It throws TextError if the key
// occurs more than once, since readers differ in which one they use.
export function member(object: Node, key: string): Node | null {
  let found: Node | null = null
  for (const p of object.children ?? []) {
    if (p.children?.[0]?.value !== key) continue
    if (found) throw new TextError(`the key "${key}" is there more than once`, p.offset)
    found = p
  }
  return found
}

// find returns the value at a path, or null if there is none.
export function find(root: Node, path: Path): Node | null {
  let at: Node | null = root
  for (const step of path) {
    if (!at) return null
    if (typeof step === 'number') at = at.type === 'array' ? (at.children?.[step] ?? null) : null
    else at = at.type === 'object' ? (member(at, step)?.children?.[1] ?? null) : null
  }
  return at
}

export const rangeOf = (n: Node): Range => ({from: n.offset, to: n.offset + n.length})

// valueOf returns the value of a node. A key such as __proto__ is an ordinary key.
export function valueOf(n: Node): unknown {
  if (n.type === 'array') return (n.children ?? []).map(valueOf)
  if (n.type !== 'object') return n.value
  const out: Record<string, unknown> = {}
  for (const p of n.children ?? []) {
    const [key, value] = p.children ?? []
    if (!key || !value) continue
    const name = String(key.value)
    if (name === '__proto__')
      Object.defineProperty(out, name, {value: valueOf(value), enumerable: true, configurable: true, writable: true})
    else out[name] = valueOf(value)
  }
  return out
}
